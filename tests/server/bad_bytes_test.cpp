// Invalid input ends its own connection and affects no other.
#include <netinet/in.h>
#include <sys/socket.h>

#include <limits>
#include <memory>
#include <random>

#include "integration/harness.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"
#include "server/statistics.hpp"
#include "support/certificates.hpp"

namespace conclave::testing {
namespace {

std::string length(std::int32_t n) {
  std::string bytes;
  append_int32(bytes, n);
  return bytes;
}

std::string noise(std::minstd_rand& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (auto& b : bytes) b = static_cast<char>(random());
  return bytes;
}

class bad_bytes : public ::testing::Test {
 protected:
  static serve_process& server() {
    static const temporary_directory folder;
    static certificate_authority authority{folder.path(), "ca"};
    static const auto files = authority.issue("server", {"DNS:localhost", "IP:127.0.0.1"});
    static serve_process it{{"--durability", "none", "--listen", "0", "--tls-listen", "0",
                             "--tls-cert", files.certificate, "--tls-key", files.key}};
    trusted = authority.certificate();
    return it;
  }
  static client_options with_tls() {
    client_options options;
    options.tls.emplace();
    options.tls->ca_file = trusted;
    return options;
  }

  void TearDown() override {
    EXPECT_TRUE(server().running());
    EXPECT_EQ(recording_writer.exists("/"), 0) << "on its first connection";
    EXPECT_EQ(local_witness.exists("/"), 0);
  }

  static inline std::string trusted;
  raw_session recording_writer{server().tcp()};
  raw_session local_witness{server().socket()};
  bool greeted = recording_writer.handshake(40'000) && local_witness.handshake(40'000);
};

TEST_F(bad_bytes, invalid_lengths_end_the_connection) {
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  for (const auto n : {-1, least, most, 0x10'0000, 0x100'0000}) {
    auto link = connect_to(server().tcp());
    link.send(length(n));
    EXPECT_TRUE(is_ended(link)) << n << " as a greeting";
    raw_session s{server().tcp()};
    ASSERT_TRUE(s.handshake(40'000));
    s.link.send(length(n));
    EXPECT_TRUE(is_ended(s.link)) << n << " as a request";
    EXPECT_TRUE(raw_session{server().tcp()}.reconnect(s)) << "its session lives";
  }
}

TEST_F(bad_bytes, the_largest_request_is_accepted_and_one_more_byte_is_not) {
  raw_session s{server().tcp()};
  ASSERT_TRUE(s.handshake(40'000));
  constexpr std::size_t limit = 0xfffff;
  const auto around = create_request(1, "/largest", "", false).size();
  EXPECT_EQ(s.create("/largest", std::string(limit - around, 'x')), 0);
  try {
    s.link.send_frame(create_request(2, "/larger1", std::string(limit - around + 1, 'x'), false));
  } catch (const connection_ended&) {
    // The server has closed the connection before the rest was sent.
  }
  EXPECT_TRUE(is_ended(s.link));
  EXPECT_NE(recording_writer.exists("/larger1"), 0);
}

TEST_F(bad_bytes, a_partial_frame_blocks_no_other_client_and_can_be_completed) {
  raw_session s{server().tcp()};
  const auto greeting = framed(encode(connect_request{40'000}));
  s.link.send(greeting.substr(0, 17));
  EXPECT_EQ(recording_writer.exists("/"), 0);
  s.link.send(greeting.substr(17));
  const auto answer = s.link.receive_frame();
  EXPECT_NE(int64_at(answer, 8), 0);

  const auto request = framed(create_request(7, "/half", "whole", false));
  for (std::size_t i = 0; i + 1 < request.size(); ++i) s.link.send(request.substr(i, 1));
  EXPECT_NE(recording_writer.exists("/half"), 0);
  s.link.send(request.substr(request.size() - 1));
  EXPECT_EQ(decode_reply(s.link.receive_frame()).xid, 7);
  EXPECT_EQ(recording_writer.exists("/half"), 0);
}

TEST_F(bad_bytes, a_disconnect_inside_a_frame_leaks_nothing) {
  const auto before = server().open_descriptors();
  for (int i = 0; i < 20; ++i) {
    raw_session s{i % 2 == 0 ? server().tcp() : server().socket()};
    ASSERT_TRUE(s.handshake(4000));
    s.link.send(length(1'000'000) + "the beginning");
    if (i % 4 == 0) s.link.reset();
  }
  // For each session on the socket, the server keeps a descriptor of its process.
  EXPECT_TRUE(eventually([&] { return server().open_descriptors() <= before + 12; }));
}

TEST_F(bad_bytes, random_bytes_end_the_connection) {
  std::minstd_rand random{12345};
  for (int i = 0; i < 300; ++i) {
    const auto address = i % 2 == 0 ? server().tcp() : server().socket();
    auto link = connect_to(address);
    auto bytes = noise(random, 4 + random() % 200);
    // With a valid length, the server would wait for more bytes until the handshake timeout.
    bytes[0] = static_cast<char>(bytes[0] | 1);
    try {
      link.send(bytes);
    } catch (const connection_ended&) {
    }
    EXPECT_TRUE(is_ended(link)) << address << ", round " << i;
  }
}

TEST(garbage, is_logged_at_a_limited_rate) {
  serve_process server{{"--durability", "none", "--listen", "0"}};
  const auto lines = [&] {
    const std::string_view line = "is not ZooKeeper's protocol";
    const auto text = server.output();
    std::size_t count = 0;
    for (auto at = text.find(line); at != text.npos; at = text.find(line, at + 1)) ++count;
    return count;
  };
  constexpr std::size_t connections = 300;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < connections; ++i) {
    auto link = connect_to(server.tcp());
    link.send(length(-1));
    EXPECT_TRUE(is_ended(link));
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_LT(took, std::chrono::seconds{connections / 2});
  EXPECT_GE(lines(), 1u);
  EXPECT_LE(lines(), 1u + static_cast<std::size_t>(took / 1s)) << "one a second";
  EXPECT_TRUE(
      eventually([&] {  // the next line, after a second, contains the number of suppressed lines
        connect_to(server.tcp()).send(length(-1));
        return server.output().find(" earlier lines like this were not logged") !=
               std::string::npos;
      }));
}

TEST_F(bad_bytes, random_frames_end_the_connection_or_are_answered) {
  std::minstd_rand random{54321};
  for (int i = 0; i < 300; ++i) {
    raw_session s{server().tcp()};
    if (i % 3 != 0) {
      ASSERT_TRUE(s.handshake(4000));
    }
    try {
      for (int k = 0; k < 5; ++k) {
        auto bytes = noise(random, random() % 100);
        if (bytes.size() >= 8 && i % 3 == 2) {  // a known request with random content
          constexpr std::array<int, 19> known{1,  2,  3,  4,  5,  6,  7,   8,   9,  12,
                                              13, 14, 15, 19, 21, 22, 100, 105, 106};
          bytes.replace(4, 4, length(known[random() % known.size()]));
        }
        s.link.send_frame(bytes);
      }
      s.link.send(length(-1));
    } catch (const connection_ended&) {
    }
    EXPECT_TRUE(is_ended(s.link)) << "round " << i;
  }
}

TEST_F(bad_bytes, random_bytes_on_the_tls_port_end_the_connection) {
  const auto tls = server().addresses()[1];
  std::minstd_rand random{999};
  {
    auto plain = connect_to(tls);
    plain.send(framed(encode(connect_request{})));
    EXPECT_TRUE(is_ended(plain)) << "a client without TLS";
  }
  {
    auto word = connect_to(tls);
    word.send("ruok");
    // These bytes can be the start of a TLS record, so the server may send an alert.
    try {
      word.send("ruok");
    } catch (const connection_ended&) {
    }
    EXPECT_TRUE(is_ended(word));
  }
  for (int i = 0; i < 50; ++i) {  // the header of a handshake record, then random bytes
    auto link = connect_to(tls);
    const auto bytes = noise(random, 200);
    try {
      link.send(std::string{"\x16\x03\x01\x00\xc8", 5} + bytes);
    } catch (const connection_ended&) {
    }
    EXPECT_TRUE(is_ended(link)) << "round " << i;
  }
  auto half = connect_to(tls);
  half.send(std::string{"\x16\x03\x01\x02\x00\x01\x00", 7});
  client zk{"127.0.0.1:" + std::to_string(server().port(1)), with_tls()};
  EXPECT_TRUE(zk.exists("/"));
}

}  // namespace
}  // namespace conclave::testing
