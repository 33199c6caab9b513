// Renewal of certificates in a running server, and failed TLS handshakes.
#include <csignal>
#include <fstream>

#include "integration/harness.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"
#include "support/certificates.hpp"

namespace conclave::testing {
namespace {

class serve_tls : public ::testing::Test {
 protected:
  static void put(const certificate_files& files, const std::filesystem::path& to) {
    constexpr auto over = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(files.certificate, to / "server.crt", over);
    std::filesystem::copy_file(files.key, to / "server.key", over);
  }
  static client_options trusting(const certificate_authority& authority) {
    client_options o;
    o.tls.emplace();
    o.tls->ca_file = authority.certificate();
    return o;
  }
  static std::size_t count(const std::string& text, std::string_view part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  }

  temporary_directory folder;
  certificate_authority before{folder.path(), "before"};
  certificate_authority after{folder.path(), "after"};
  argument_list arguments{"--durability",
                          "none",
                          "--verbose",
                          "--tls-listen",
                          "127.0.0.1:0",
                          "--tls-cert",
                          folder.path() / "server.crt",
                          "--tls-key",
                          folder.path() / "server.key"};
};

TEST_F(serve_tls, renewed_certificates_are_used_after_sighup) {
  put(before.issue("first", {"IP:127.0.0.1"}), folder.path());
  serve_process server{arguments};
  const auto address = "127.0.0.1:" + std::to_string(server.port());
  client old{address, trusting(before)};
  const auto node = old.create("/old", "", create_mode::ephemeral_sequential).path;

  put(after.issue("second", {"IP:127.0.0.1"}), folder.path());
  server.signal(SIGHUP);
  ASSERT_TRUE(server.prints("SIGHUP: the certificates were reloaded"));
  client fresh{address, trusting(after)};
  EXPECT_TRUE(fresh.exists(node)) << "the session of the open connection continues";
  EXPECT_TRUE(old.exists(node)) << "the open connection stays, although a new one would be refused";

  std::ofstream{folder.path() / "server.crt"} << "dear diary";
  server.signal(SIGHUP);
  ASSERT_TRUE(server.prints("SIGHUP: the old certificates stay in use: "));
  client again{address, trusting(after)};
  EXPECT_TRUE(again.exists(node));
  EXPECT_TRUE(server.running());
}

TEST_F(serve_tls, a_renewed_key_that_others_can_read_is_refused) {
  put(before.issue("first", {"IP:127.0.0.1"}), folder.path());
  serve_process server{arguments};
  std::filesystem::permissions(folder.path() / "server.key", std::filesystem::perms{0644});
  server.signal(SIGHUP);
  ASSERT_TRUE(server.prints("SIGHUP: the old certificates stay in use: "));
  EXPECT_TRUE(server.prints("chmod 600")) << server.output();
}

TEST_F(serve_tls, sighup_does_not_end_the_server) {
  serve_process server{{"--durability", "none", "--verbose"}};
  server.signal(SIGHUP);
  EXPECT_TRUE(server.prints("SIGHUP: there are no certificates to reload"));
  EXPECT_TRUE(client{server.socket()}.exists("/"));
}

TEST_F(serve_tls, failed_handshakes_are_logged_at_a_limited_rate) {
  put(before.issue("first", {"IP:127.0.0.1"}), folder.path());
  serve_process server{arguments};
  for (int i = 0; i < 200; ++i) {
    auto link = loopback_socket::connect(server.port());
    link.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(is_ended(link));
  }
  EXPECT_TRUE(server.prints(": TLS failed (")) << server.output();
  EXPECT_LT(count(server.output(), "TLS failed"), 100u) << "one a second";

  // A client that does not trust the certificate.
  client distrustful{"127.0.0.1:" + std::to_string(server.port()), trusting(after)};
  EXPECT_TRUE(server.prints("unknown ca") || server.prints("bad certificate")) << server.output();
  EXPECT_TRUE(server.prints(" earlier lines like this were not logged"));
}

}  // namespace
}  // namespace conclave::testing
