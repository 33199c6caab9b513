// Settings of Apache's server that require authentication or disable features.

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

constexpr auto refused = errc::session_closed_require_sasl_auth;

core_options demanding(std::vector<std::string> schemes) {
  auto o = default_options();
  o.required_auth = std::move(schemes);
  return o;
}

TEST(required_auth, an_unauthenticated_client_is_refused) {
  for (const auto& what :
       {exists("/"), get("/"), children("/"), create("/n"), remove("/n"), set("/n", "x"), ping(),
        close_session(), multi({create("/n")}), add_persistent_watch("/"), sync("/")}) {
    test_server server{demanding({"digest"})};
    auto& c = server.open_session();
    EXPECT_EQ(c.ask(what), refused);
    EXPECT_TRUE(c.closed());
    EXPECT_EQ(server.stored().nodes.count("/n"), 0u);
  }
}

TEST(required_auth, one_of_the_schemes_is_enough) {
  test_server server{demanding({"x", "digest"})};
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(auth("ip", "")), ok);
  EXPECT_EQ(c.ask(auth("digest", "ann:secret")), ok);
  EXPECT_EQ(c.ask(create("/n")), ok);
  EXPECT_EQ(c.ask(ping()), ok);
  auto& other = server.open_session();
  EXPECT_EQ(other.ask(auth("ip", "")), ok) << "an address is no authentication";
  EXPECT_EQ(other.ask(exists("/n")), refused);
}

TEST(required_auth, applies_to_every_connection_of_a_session) {
  test_server server{demanding({"digest"})};
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(auth("digest", "ann:secret")), ok);
  EXPECT_EQ(c.ask(exists("/")), ok);
  auto& again = server.reconnect(c);
  EXPECT_EQ(again.ask(exists("/")), refused);
}

TEST(required_auth, digests_can_be_switched_off) {
  auto o = default_options();
  o.digest_auth = false;
  o.super_digest = digest_of("super:test");
  test_server server{o};
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(create_with("/n", {{31, "digest", digest_of("ann:secret")}})), errc::invalid_acl);
  EXPECT_EQ(c.ask(create_with("/n", {{31, "auth", ""}})), errc::invalid_acl);
  EXPECT_EQ(c.ask(create("/n")), ok);
  EXPECT_EQ(c.ask(set_acl("/n", {{31, "digest", digest_of("ann:secret")}})), errc::invalid_acl);
  EXPECT_EQ(c.ask(auth("digest", "super:test")), errc::auth_failed);
  EXPECT_TRUE(c.closed());
}

TEST(required_auth, ttl_nodes_can_be_switched_off) {
  auto o = default_options();
  o.ttl_nodes = false;
  test_server server{o};
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(create_ttl("/t", 1000)), errc::unimplemented);
  EXPECT_EQ(c.ask(create2("/t", "", mode::ttl)), errc::unimplemented);
  EXPECT_EQ(c.ask(create_container("/c")), ok) << "the connection stays open";
  const auto answer = c.ask(multi({create("/a"), create_ttl("/t", 1000)}));
  ASSERT_EQ(answer.parts.size(), 2u);
  EXPECT_EQ(answer.parts[1], errc::unimplemented);
  EXPECT_EQ(c.ask(exists("/a")), errc::no_node);
}

}  // namespace
}  // namespace conclave::server_impl
