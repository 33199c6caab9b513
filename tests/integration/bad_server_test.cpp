// Servers that misbehave: a clear error, bounded memory, and the client goes on to the next one.
#include <sys/resource.h>

#include <atomic>
#include <random>

#include "integration/harness.hpp"
#include "support/frames.hpp"
#include "support/scripted_server.hpp"

namespace conclave::testing {
namespace {

using event = session_event::kind;

client_options quick() {
  auto options = with_timeout(2s);
  options.connect_wait = 400ms;
  options.reconnect = [](unsigned) { return 5ms; };
  return options;
}

// The script misbehaves on every connection: operations fail with a clear code, the client keeps
// trying, and it can be closed.
void expect_no_connection(const scripted_server::script& script) {
  inbox<bool> connected;
  scripted_server server{[&](scripted_connection& c) {
    connected.put(true);
    script(c);
  }};
  client zk{server.connect_string(), quick()};
  EXPECT_EQ(code_of([&] { zk.get("/"); }), errc::not_connected);
  EXPECT_TRUE(connected.take()) << "it was never tried";
  EXPECT_EQ(server.failures(), std::vector<std::string>{});
}

TEST(bad_server, says_nothing_at_all) {
  expect_no_connection([](scripted_connection& c) { c.wait_until_closed(); });
}

TEST(bad_server, closes_at_once) {
  expect_no_connection([](scripted_connection& c) { c.close(); });
}

TEST(bad_server, resets_at_once) {
  expect_no_connection([](scripted_connection& c) { c.reset(); });
}

TEST(bad_server, speaks_http) {
  expect_no_connection([](scripted_connection& c) {
    c.read_frame();
    c.send_bytes("HTTP/1.1 400 Bad Request\r\n\r\n");
    c.wait_until_closed();
  });
}

TEST(bad_server, answers_the_handshake_with_half_a_frame) {
  expect_no_connection([](scripted_connection& c) {
    c.read_frame();
    c.send_bytes(std::string("\0\0\0\x24\0\0\0\0\0\0", 10));
    c.close();
  });
}

TEST(bad_server, answers_the_handshake_with_too_little) {
  expect_no_connection([](scripted_connection& c) {
    c.read_frame();
    c.send_frame("abc");
    c.wait_until_closed();
  });
}

TEST(bad_server, says_that_a_new_session_has_expired) {
  expect_no_connection([](scripted_connection& c) {
    c.accept_session(0, 0);
    c.wait_until_closed();
  });
}

// After a good handshake: the request in flight is lost with an unknown outcome and the session is
// taken up again.
void expect_lost_connection(
    const std::function<void(scripted_connection&, const std::string&)>& answer) {
  scripted_server server{[&](scripted_connection& c) {
    c.accept_session(2000, 77);
    const auto request = c.read_frame();
    answer(c, request);
    c.wait_until_closed();
  }};
  inbox<std::string> log;
  auto options = quick();
  options.connect_wait = patience;  // what is lost must have been sent
  options.log = [&](log_level, std::string_view line) { log.put(std::string{line}); };
  client zk{server.connect_string(), options};
  session_recorder events{zk};
  EXPECT_EQ(code_of([&] { zk.create("/a"); }), errc::connection_loss);
  const auto suspended = events.wait_for(event::suspended);
  ASSERT_TRUE(suspended);
  EXPECT_EQ(suspended->reason, errc::protocol_error);
  EXPECT_TRUE(events.wait_for(event::reconnected));
  EXPECT_EQ(server.failures(), std::vector<std::string>{});
}

TEST(bad_server, a_negative_length) {
  expect_lost_connection([](auto& c, auto&) { c.send_bytes("\xff\xff\xff\xff"); });
}

TEST(bad_server, an_absurd_length) {
  expect_lost_connection([](auto& c, auto&) { c.send_bytes("\x7f\xff\xff\xff"); });
}

TEST(bad_server, an_answer_to_another_request) {
  expect_lost_connection(
      [](auto& c, auto& request) { c.send_reply(int32_at(request, 0) + 1, 1, 0); });
}

TEST(bad_server, an_answer_without_its_body) {
  expect_lost_connection([](auto& c, auto& request) { c.send_reply(int32_at(request, 0), 1, 0); });
}

TEST(bad_server, an_answer_whose_string_is_longer_than_the_frame) {
  expect_lost_connection([](auto& c, auto& request) {
    c.send_reply(int32_at(request, 0), 1, 0, std::string("\0\xff\xff\xff/a", 6));
  });
}

TEST(bad_server, an_empty_frame) {
  expect_lost_connection([](auto& c, auto&) { c.send_frame(""); });
}

TEST(bad_server, an_unasked_ping_answer) {
  expect_lost_connection([](auto& c, auto&) { c.send_reply(-2, 1, 0); });
}

TEST(bad_server, a_broken_event) {
  expect_lost_connection([](auto& c, auto&) { c.send_reply(-1, 1, 0, "\x01"); });
}

TEST(bad_server, random_bytes_for_ever) {
  std::atomic<std::uint32_t> seed{1};
  scripted_server server{[&](scripted_connection& c) {
    std::minstd_rand random{seed++};
    c.accept_session(2000, 77);
    std::string bytes(4096, '\0');
    for (auto& b : bytes) b = static_cast<char>(random());
    bytes[0] = '\0';  // now and then a length that could be one
    bytes[1] = '\0';
    c.send_bytes(bytes);
    c.wait_until_closed(std::chrono::milliseconds{200});
  }};
  client zk{server.connect_string(), quick()};
  session_recorder events{zk};
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(events.wait_for(event::suspended));
}

TEST(bad_server, a_promised_giant_takes_no_memory_until_it_arrives) {
  scripted_server server{[&](scripted_connection& c) {
    c.accept_session(2000, 77);
    c.send_bytes(std::string("\0\xff\0\0", 4));  // 16 MiB, of which nothing follows
    c.wait_until_closed();
  }};
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  {
    std::vector<std::unique_ptr<client>> many;
    context shared;
    for (int i = 0; i < 50; ++i)
      many.push_back(std::make_unique<client>(shared, server.connect_string(), with_timeout(2s)));
    for (auto& zk : many) ASSERT_TRUE(zk->wait_connected(patience));
    for (auto& zk : many) zk->async_get("/", [](error_code, get_result) {});
  }
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200'000)
      << "fifty promises of 16 MiB are not 800 MiB";
}

TEST(bad_server, a_slow_one_byte_at_a_time_is_understood) {
  scripted_server server{[&](scripted_connection& c) {
    c.accept_session(5000, 77);
    for (;;) {
      const auto request = c.read_frame();
      std::string reply;
      append_int32(reply, int32_at(request, 0));
      append_int64(reply, 5);
      append_int32(reply, -101);
      for (const char byte : framed(reply)) c.send_bytes({&byte, 1});
    }
  }};
  client zk{server.connect_string(), with_timeout(5s)};
  EXPECT_EQ(code_of([&] { zk.get("/a"); }), errc::no_node);
}

}  // namespace
}  // namespace conclave::testing
