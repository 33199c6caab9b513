// query_server(): replies to four-letter words, and the reasons why there is none.
#include "conclave/query_server.hpp"

#include <boost/asio/error.hpp>

#include "integration/harness.hpp"
#include "server/serve_process.hpp"
#include "support/certificates.hpp"
#include "support/free_port.hpp"

namespace conclave::testing {
namespace {

endpoint socket_of(const serve_process& server) { return {"", 0, server.socket_file().string()}; }

TEST(query_server, returns_the_reply_and_the_address) {
  serve_process server{{"--durability", "none", "--listen", "127.0.0.1:0"}};
  const auto by_name = query_server({"localhost", server.port()}, "srvr");
  EXPECT_FALSE(by_name.error) << by_name.reason;
  EXPECT_NE(by_name.reply.find("Mode: standalone\n"), std::string::npos);
  EXPECT_EQ(by_name.address, "127.0.0.1");
  EXPECT_GT(by_name.connect_time, 0s);
  EXPECT_FALSE(by_name.tls);

  query_options options;
  options.timeout = options.reply_timeout = std::chrono::milliseconds::max();
  options.tls.emplace();
  const auto by_socket = query_server(socket_of(server), "ruok", options);
  EXPECT_EQ(by_socket.reply, "imok");
  EXPECT_EQ(by_socket.address, server.socket_file());
  EXPECT_FALSE(by_socket.tls) << "a Unix socket never uses TLS";
}

TEST(query_server, reports_why_there_is_no_connection) {
  EXPECT_EQ(query_server({"127.0.0.1", free_port()}, "srvr").error,
            boost::asio::error::connection_refused);
  const auto missing = query_server({"", 0, "/nowhere/socket"}, "srvr");
  EXPECT_EQ(missing.error, boost::system::errc::no_such_file_or_directory);
  EXPECT_EQ(missing.reason, "No such file or directory");
  EXPECT_TRUE(missing.address.empty());
  EXPECT_TRUE(query_server({"", 0, std::string(200, 'x')}, "srvr").error);
}

TEST(query_server, ends_at_its_timeout) {
  serve_process server{{"--durability", "none", "--listen", "127.0.0.1:0"}};
  server.pause();
  query_options options;
  options.reply_timeout = 50ms;
  const auto silent = query_server({"127.0.0.1", server.port()}, "srvr", options);
  EXPECT_FALSE(silent.error) << "the kernel accepts the connection";
  EXPECT_EQ(silent.reply, "");
  options.tls.emplace();
  options.timeout = 50ms;
  const auto handshake = query_server({"127.0.0.1", server.port()}, "srvr", options);
  EXPECT_EQ(handshake.error, boost::asio::error::timed_out);
  EXPECT_FALSE(handshake.tls);
  server.resume();
}

class query_server_tls : public ::testing::Test {
 protected:
  query_result query(const certificate_authority& trusted, std::uint16_t port) {
    query_options options;
    options.tls.emplace();
    options.tls->ca_file = trusted.certificate();
    return query_server({"127.0.0.1", port}, "srvr", options);
  }

  temporary_directory folder;
  certificate_authority authority{folder.path(), "ca"}, untrusted{folder.path(), "untrusted"};
  certificate_files files = authority.issue("server", {"IP:127.0.0.1"}, 48h);
  serve_process server{{"--durability", "none", "--listen", "127.0.0.1:0", "--tls-listen",
                        "127.0.0.1:0", "--tls-cert", files.certificate, "--tls-key", files.key}};
};

TEST_F(query_server_tls, describes_the_certificate) {
  const auto got = query(authority, server.port(1));
  EXPECT_FALSE(got.error) << got.reason;
  EXPECT_NE(got.reply.find("Mode: standalone\n"), std::string::npos);
  ASSERT_TRUE(got.tls);
  EXPECT_EQ(got.tls->protocol, "TLSv1.3");
  EXPECT_EQ(got.tls->subject, "CN=server");
  const auto left = got.tls->valid_until - std::chrono::system_clock::now();
  EXPECT_GT(left, 47h);
  EXPECT_LE(left, 48h);
}

TEST_F(query_server_tls, reports_a_certificate_that_it_refuses) {
  const auto got = query(untrusted, server.port(1));
  EXPECT_EQ(got.error, errc::tls_failed);
  EXPECT_NE(got.reason.find("certificate"), std::string::npos) << got.reason;
  ASSERT_TRUE(got.tls) << "the server uses TLS";
  EXPECT_EQ(got.tls->subject, "");
  EXPECT_EQ(got.reply, "");
}

TEST_F(query_server_tls, reports_that_a_server_does_not_use_tls) {
  const auto got = query(authority, server.port(0));
  EXPECT_TRUE(got.error);
  EXPECT_EQ(got.address, "127.0.0.1");
  EXPECT_FALSE(got.tls);
}

TEST_F(query_server_tls, throws_if_a_file_cannot_be_used) {
  query_options options;
  options.tls.emplace();
  options.tls->ca_file = "/nowhere/ca.pem";
  EXPECT_THROW(query_server({"127.0.0.1", server.port(1)}, "srvr", options), error);
}

}  // namespace
}  // namespace conclave::testing
