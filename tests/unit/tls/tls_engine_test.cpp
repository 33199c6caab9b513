// A client's engine and a server's engine, connected in memory, with both versions of TLS.

#include "tls/tls_engine.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "support/certificates.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::tls {
namespace {

using conclave::testing::certificate_authority;
using conclave::testing::certificate_files;
using conclave::testing::temporary_directory;

// Created once, because keys take time.
struct certificates {
  temporary_directory folder;
  certificate_authority trusted{folder.path(), "ca"};
  certificate_authority untrusted{folder.path(), "untrusted"};
  certificate_files server = trusted.issue("server", {"DNS:localhost", "IP:127.0.0.1"});
  certificate_files client = trusted.issue("client", {});
  certificate_files impostor = untrusted.issue("impostor", {});
};

const certificates& shared() {
  static const certificates p;
  return p;
}

struct endpoint {
  explicit endpoint(tls_engine e) : engine{std::move(e)} {}

  void take(std::string_view cipher) {
    if (!ec) ec = engine.receive(cipher, plain);
  }
  std::string give() { return std::exchange(engine.output, {}); }

  tls_engine engine;
  std::string plain;
  error_code ec;
};

class engines : public ::testing::TestWithParam<int> {
 protected:
  static tls_options trusting() {
    tls_options o;
    o.ca_file = shared().trusted.certificate();
    return o;
  }
  static tls_options showing(const certificate_files& mine) {
    auto o = trusting();
    o.certificate_file = mine.certificate;
    o.key_file = mine.key;
    return o;
  }
  static server_tls_options server_options() {
    server_tls_options o;
    o.certificate_file = shared().server.certificate;
    o.key_file = shared().server.key;
    return o;
  }
  static server_tls_options asking(bool require) {
    auto o = server_options();
    o.client_ca_file = shared().trusted.certificate();
    o.require_client_certificate = require;
    return o;
  }

  static endpoint make_client(const tls_options& o, const std::string& host = "localhost") {
    const tls_settings settings{o};  // destroyed before its engine
    SSL_CTX_set_max_proto_version(settings.context(), GetParam());
    return endpoint{tls_engine{settings, host}};
  }
  static endpoint make_server(const server_tls_options& o) {
    return endpoint{tls_engine{tls_server_settings{o}}};
  }

  // Transfers bytes in both directions, `step` at a time, until neither engine has output.
  static void transfer(endpoint& client, endpoint& server, std::size_t step = std::string::npos) {
    const auto carry = [step](endpoint& from, endpoint& to) {
      const auto bytes = from.give();
      for (std::size_t at = 0; at < bytes.size();) {
        const auto piece = std::string_view{bytes}.substr(at, step);
        to.take(piece);
        at += piece.size();
      }
      return !bytes.empty();
    };
    client.take({});
    for (bool more = true; more;) {
      more = carry(client, server);
      more |= carry(server, client);
    }
  }

  static void expect_good(const endpoint& client, const endpoint& server) {
    EXPECT_FALSE(client.ec) << client.engine.reason();
    EXPECT_FALSE(server.ec) << server.engine.reason();
    EXPECT_TRUE(client.engine.established() && server.engine.established());
  }
  static void expect_refused(const endpoint& p, std::string_view why) {
    EXPECT_EQ(p.ec, errc::tls_failed);
    EXPECT_NE(p.engine.reason().find(why), std::string::npos) << p.engine.reason();
  }
};

INSTANTIATE_TEST_SUITE_P(version, engines, ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& v) { return v.param == TLS1_2_VERSION ? "1_2" : "1_3"; });

TEST_P(engines, complete_a_handshake_and_exchange_data) {
  auto client = make_client(trusting());
  auto server = make_server(server_options());
  transfer(client, server);
  expect_good(client, server);
  EXPECT_EQ(client.engine.peer_subject(), "CN=server");
  EXPECT_EQ(server.engine.peer_subject(), "");

  EXPECT_FALSE(client.engine.encrypt("request"));
  EXPECT_EQ(client.engine.output.find("request"), std::string::npos);
  EXPECT_FALSE(server.engine.encrypt("answer"));
  transfer(client, server);
  EXPECT_EQ(server.plain, "request");
  EXPECT_EQ(client.plain, "answer");
}

TEST_P(engines, accept_single_bytes) {
  auto client = make_client(showing(shared().client));
  auto server = make_server(asking(true));
  transfer(client, server, 1);
  expect_good(client, server);
  EXPECT_FALSE(client.engine.encrypt("request"));
  transfer(client, server, 1);
  EXPECT_EQ(server.plain, "request");
}

TEST_P(engines, exchange_large_data_in_both_directions) {
  auto client = make_client(trusting());
  auto server = make_server(server_options());
  transfer(client, server);
  std::string request(5'000'000, '\0'), answer(7'000'001, '\0');
  for (std::size_t i = 0; i < request.size(); ++i) request[i] = static_cast<char>(i * 31 >> 3);
  for (std::size_t i = 0; i < answer.size(); ++i) answer[i] = static_cast<char>(i * 17 >> 2);
  EXPECT_FALSE(client.engine.encrypt(request));
  EXPECT_FALSE(server.engine.encrypt(answer));
  transfer(client, server, 60'001);
  EXPECT_TRUE(server.plain == request);
  EXPECT_TRUE(client.plain == answer);
}

TEST_P(engines, a_server_of_an_unknown_authority_is_refused_with_an_alert) {
  auto options = trusting();
  options.ca_file = shared().untrusted.certificate();
  auto client = make_client(options);
  auto server = make_server(server_options());
  transfer(client, server);
  expect_refused(client, "self-signed certificate in certificate chain");
  expect_refused(server, "unknown ca");
  EXPECT_FALSE(client.engine.established());
}

TEST_P(engines, a_certificate_for_another_host_is_refused) {
  auto options = trusting();
  for (const std::string host : {"other.example", "127.0.0.2"}) {
    auto client = make_client(options, host);
    auto server = make_server(server_options());
    transfer(client, server);
    expect_refused(client, "mismatch");
  }
  options.verify_host = false;
  auto client = make_client(options, "other.example");
  auto server = make_server(server_options());
  transfer(client, server);
  expect_good(client, server);
}

TEST_P(engines, a_client_is_identified_by_its_certificate) {
  for (const bool required : {false, true}) {
    auto client = make_client(showing(shared().client));
    auto server = make_server(asking(required));
    transfer(client, server);
    expect_good(client, server);
    EXPECT_EQ(server.engine.peer_subject(), "CN=client");
  }
}

TEST_P(engines, a_client_is_not_asked_for_a_certificate_without_authorities) {
  auto client = make_client(showing(shared().client));
  auto server = make_server(server_options());
  transfer(client, server);
  expect_good(client, server);
  EXPECT_EQ(server.engine.peer_subject(), "");
}

TEST_P(engines, a_client_without_a_certificate_is_refused_only_if_one_is_required) {
  {
    auto client = make_client(trusting());
    auto server = make_server(asking(false));
    transfer(client, server);
    expect_good(client, server);
    EXPECT_EQ(server.engine.peer_subject(), "");
  }
  auto client = make_client(trusting());
  auto server = make_server(asking(true));
  transfer(client, server);
  expect_refused(server, "peer did not return a certificate");
  EXPECT_FALSE(server.engine.established());
  expect_refused(client, "alert");
}

TEST_P(engines, a_client_certificate_of_an_unknown_authority_is_refused_even_if_none_is_required) {
  for (const bool required : {false, true}) {
    auto client = make_client(showing(shared().impostor));
    auto server = make_server(asking(required));
    transfer(client, server);
    expect_refused(server, "self-signed certificate in certificate chain");
    EXPECT_FALSE(server.engine.established());
    EXPECT_EQ(server.engine.peer_subject(), "");
    expect_refused(client, "unknown ca");
  }
}

TEST_P(engines, both_refuse_garbage) {
  for (const std::string_view garbage :
       {std::string_view{"\0\0\0\x2c\0\0\0\0", 8}, std::string_view{"GET / HTTP/1.1\r\n\r\n"},
        std::string_view{"ruok and more"}}) {
    auto server = make_server(server_options());
    server.take(garbage);
    EXPECT_EQ(server.ec, errc::tls_failed);
    EXPECT_NE(server.engine.reason(), "");
    auto client = make_client(trusting());
    client.take({});
    client.take(garbage);
    EXPECT_EQ(client.ec, errc::tls_failed);
  }
}

TEST_P(engines, a_changed_byte_ends_the_connection) {
  auto client = make_client(trusting());
  auto server = make_server(server_options());
  transfer(client, server);
  EXPECT_FALSE(client.engine.encrypt("first"));
  auto changed = client.give();
  changed.back() = static_cast<char>(changed.back() ^ 1);
  server.take(changed);
  const auto why = server.engine.reason();
  EXPECT_EQ(server.ec, errc::tls_failed);
  EXPECT_NE(why, "");
  EXPECT_EQ(server.plain, "");
  EXPECT_FALSE(server.give().empty());  // the alert

  EXPECT_FALSE(client.engine.encrypt("second"));
  EXPECT_EQ(server.engine.receive(client.give(), server.plain), errc::tls_failed);
  EXPECT_EQ(server.engine.encrypt("answer"), errc::tls_failed);
  EXPECT_EQ(server.plain, "");
  EXPECT_EQ(server.engine.reason(), why);
}

TEST_P(engines, an_interrupted_handshake_establishes_nothing) {
  auto client = make_client(trusting());
  client.take({});
  const auto hello = client.give();
  for (std::size_t size = 0; size < hello.size(); size += 7) {
    auto server = make_server(server_options());
    server.take(std::string_view{hello}.substr(0, size));
    EXPECT_FALSE(server.ec);
    EXPECT_FALSE(server.engine.established());
    EXPECT_EQ(server.engine.output, "");
  }
}

}  // namespace
}  // namespace conclave::tls
