// TLS with a real server.
#include <boost/asio/use_future.hpp>

#include "integration/harness.hpp"
#include "support/certificates.hpp"
#include "support/link_proxy.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

class tls : public ::testing::Test {
 protected:
  static client_options trusting(const std::string& ca) {
    client_options options;
    options.connect_wait = wait_limit;
    options.tls.emplace();
    options.tls->ca_file = ca;
    return options;
  }

  struct fixture {
    temporary_directory folder;
    certificate_authority trusted{folder.path(), "ca"};
    certificate_authority untrusted{folder.path(), "untrusted"};
    certificate_files good = trusted.issue("server", {"DNS:localhost", "IP:127.0.0.1"});
    certificate_files client_certificate = trusted.issue("client", {});
    zookeeper_server server{[this] {
      zookeeper_options options;
      options.tls.emplace(good.bundle, trusted.certificate(), false);
      return options;
    }()};
  };
  static fixture& shared() {
    static fixture f;
    return f;
  }

  fixture& f = shared();
};

TEST_F(tls, a_trusted_server_is_used_by_address_and_by_name) {
  const auto options = trusting(f.trusted.certificate());
  client by_address{f.server.secure_connect_string(), options};
  EXPECT_TRUE(by_address.exists("/"));
  client by_name{"localhost:" + std::to_string(f.server.secure_port()), options};
  EXPECT_TRUE(by_name.exists("/"));
}

TEST_F(tls, large_data_and_many_requests_work) {
  client zk{f.server.secure_connect_string(), trusting(f.trusted.certificate())};
  const std::string data(800'000, 'x');
  zk.create("/large", data);
  EXPECT_EQ(zk.get("/large").data, data);
  std::vector<std::future<get_result>> results;
  for (int i = 0; i < 300; ++i) results.push_back(zk.async_get("/", boost::asio::use_future));
  for (auto& r : results) r.get();
  for (int i = 0; i < 20; ++i)
    zk.async_set("/large", data, any_version, [](error_code, node_stat) {});
  EXPECT_EQ(zk.get("/large").stat.version, 20);
}

TEST_F(tls, an_untrusted_server_is_refused_and_the_reason_is_logged) {
  auto options = trusting(f.untrusted.certificate());
  inbox<std::string> log;
  options.log = [&](log_level, std::string_view line) { log.put(std::string{line}); };
  options.connect_wait = 500ms;
  client zk{f.server.secure_connect_string(), options};
  EXPECT_EQ(code_of([&] { zk.exists("/"); }), errc::not_connected);
  std::optional<std::string> line;
  do line = log.take();
  while (line && line->find("certificate") == std::string::npos);
  EXPECT_TRUE(line) << "the reason was not logged";
}

TEST_F(tls, a_certificate_for_another_host_is_refused_by_default) {
  zookeeper_options server_options;
  const auto other = f.trusted.issue("other", {"DNS:other.example"});
  server_options.tls.emplace(other.bundle, f.trusted.certificate(), false);
  zookeeper_server server{server_options};
  auto options = trusting(f.trusted.certificate());
  options.connect_wait = 500ms;
  EXPECT_EQ(code_of([&] { client(server.secure_connect_string(), options).exists("/"); }),
            errc::not_connected);
  options.connect_wait = 10s;
  options.tls->verify_host = false;
  EXPECT_TRUE(client(server.secure_connect_string(), options).exists("/"));
}

TEST_F(tls, a_client_certificate_is_sent_if_requested) {
  zookeeper_options server_options;
  server_options.tls.emplace(f.good.bundle, f.trusted.certificate(), true);
  zookeeper_server server{server_options};
  auto options = trusting(f.trusted.certificate());
  options.connect_wait = 500ms;
  EXPECT_EQ(code_of([&] { client(server.secure_connect_string(), options).exists("/"); }),
            errc::not_connected);
  options.connect_wait = 10s;
  options.tls->certificate_file = f.client_certificate.certificate;
  options.tls->key_file = f.client_certificate.key;
  client zk{server.secure_connect_string(), options};
  EXPECT_TRUE(zk.exists("/"));
}

TEST_F(tls, the_session_survives_a_reconnect) {
  link_proxy proxy{f.server.secure_port(), true};
  client zk{proxy.connect_string(), trusting(f.trusted.certificate())};
  session_recorder events{zk};
  zk.create("/disconnect", "", create_mode::ephemeral);
  const auto session = zk.session_id();
  proxy.drop_links(link_proxy::ending::reset);
  ASSERT_TRUE(events.wait_for(session_event::kind::reconnected));
  EXPECT_EQ(zk.session_id(), session);
  EXPECT_TRUE(zk.exists("/disconnect"));
}

TEST_F(tls, a_plain_port_is_not_mistaken_for_a_secure_one) {
  auto options = trusting(f.trusted.certificate());
  options.connect_wait = 500ms;
  EXPECT_EQ(code_of([&] { client(f.server.connect_string(), options).exists("/"); }),
            errc::not_connected);
}

TEST_F(tls, unreadable_files_are_named_at_once) {
  auto options = trusting("/no/such/ca.pem");
  try {
    client zk{f.server.secure_connect_string(), options};
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::tls_failed);
    EXPECT_NE(std::string{e.what()}.find("/no/such/ca.pem"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace conclave::testing
