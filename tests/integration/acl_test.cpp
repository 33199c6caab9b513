// Access control and digest authentication on a real server.
#include <cstdlib>
#include <fstream>

#include "integration/harness.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

client_options as_user(const std::string& user_and_password) {
  client_options options;
  options.credentials.emplace_back("digest", secret::from_memory(user_and_password));
  return options;
}

class access_control : public ::testing::Test {
 protected:
  std::string where = shared_server().connect_string();
  client anybody{where};
  std::string root = fresh_node(anybody, "acl");
};

TEST_F(access_control, credentials_make_new_nodes_private) {
  client alice{where, as_user("alice:secret")};
  client bob{where, as_user("bob:other")};
  const auto path = alice.create(root + "/hers", "x").path;
  EXPECT_EQ(alice.get(path).data, "x");
  EXPECT_EQ(code_of([&] { bob.get(path); }), errc::no_auth);
  EXPECT_EQ(code_of([&] { anybody.set(path, ""); }), errc::no_auth);
  const auto list = alice.get_acl(path).acl;
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].scheme, "digest");
  EXPECT_EQ(list[0].id.substr(0, 6), "alice:");
}

TEST_F(access_control, without_credentials_nodes_are_open_and_one_warning_is_logged) {
  client_options options;
  inbox<std::string> log;
  options.log = [&](log_level, std::string_view line) { log.put(std::string{line}); };
  int warnings = 0;
  {
    client zk{where, options};
    EXPECT_EQ(zk.get_acl(zk.create(root + "/a").path).acl, open_acl());
    zk.create(root + "/b");
  }
  while (const auto line = log.take(0s))
    warnings += line->find("open to everybody") != std::string::npos;
  EXPECT_EQ(warnings, 1);
}

TEST_F(access_control, a_default_acl_can_be_configured) {
  client_options options;
  options.default_acl = read_only_acl();
  client zk{where, options};
  const auto path = zk.create(root + "/r").path;
  EXPECT_EQ(zk.get_acl(path).acl, read_only_acl());
  EXPECT_EQ(code_of([&] { zk.set(path, ""); }), errc::no_auth);
}

TEST_F(access_control, set_acl_with_versions) {
  const auto path = anybody.create(root + "/s").path;
  EXPECT_EQ(anybody.set_acl(path, open_acl(), 0).aversion, 1);
  EXPECT_EQ(code_of([&] { anybody.set_acl(path, open_acl(), 0); }), errc::bad_version);
  EXPECT_EQ(code_of([&] { anybody.set_acl(path, {}); }), errc::invalid_acl);
}

TEST_F(access_control, credentials_can_be_added_later) {
  client alice{where, as_user("alice:secret")};
  const auto path = alice.create(root + "/later", "x").path;
  client zk{where};
  EXPECT_EQ(code_of([&] { zk.get(path); }), errc::no_auth);
  zk.add_auth({"digest", secret::from_memory("alice:secret")});
  EXPECT_EQ(zk.get(path).data, "x");
  EXPECT_EQ(zk.who_am_i().size(), 2u);
}

TEST_F(access_control, secrets_can_be_read_from_files_and_the_environment) {
  temporary_directory folder;
  const auto file = (folder.path() / "password").string();
  std::ofstream{file} << "carol:from a file\n";
  ::setenv("CONCLAVE_TEST_SECRET", "carol:from a file", 1);
  client_options by_file;
  by_file.credentials.emplace_back("digest", secret::from_file(file));
  client_options by_variable;
  by_variable.credentials.emplace_back("digest", secret::from_environment("CONCLAVE_TEST_SECRET"));
  const auto path = client{where, by_file}.create(root + "/carol", "x").path;
  EXPECT_EQ(client(where, by_variable).get(path).data, "x");
}

TEST_F(access_control, the_super_user_may_do_everything) {
  client alice{where, as_user("alice:secret")};
  const auto path = alice.create(root + "/private", "x").path;
  EXPECT_EQ(client(where, as_user("super:test")).get(path).data, "x");
}

TEST_F(access_control, sasl_fails_with_a_clear_error) {
  EXPECT_EQ(code_of([&] {
              anybody.add_auth({"sasl", secret::from_memory("x")});
            }),
            errc::not_supported);
  EXPECT_TRUE(anybody.exists("/"));
}

TEST_F(access_control, an_unknown_scheme_ends_the_session) {
  client zk{where};
  session_recorder events{zk};
  ASSERT_TRUE(zk.wait_connected(wait_limit));
  EXPECT_EQ(code_of([&] {
              zk.add_auth({"nonsense", secret::from_memory("x")});
            }),
            errc::auth_failed);
  EXPECT_TRUE(events.wait_for(session_event::kind::authentication_failed));
  EXPECT_EQ(zk.state(), session_state::authentication_failed);
  EXPECT_EQ(code_of([&] { zk.get("/"); }), condition::session_dead);
}

// Settings that work on conclave's server like on Apache's.
TEST(restricted_server, requires_authentication) {
  zookeeper_options options;
  options.config = {{"enforce.auth.enabled", "true"}, {"enforce.auth.schemes", "digest"}};
  zookeeper_server server{options};
  client other_client{server.connect_string()};
  EXPECT_EQ(code_of([&] { other_client.create("/n"); }), errc::session_closed_require_sasl_auth);
  EXPECT_EQ(other_client.state(), session_state::authentication_failed);
  client alice{server.connect_string(), as_user("alice:secret")};
  EXPECT_FALSE(alice.exists("/n"));
  client late{server.connect_string()};
  late.add_auth({"digest", secret::from_memory("bob:secret")});
  EXPECT_FALSE(late.exists("/n"));
}

TEST(restricted_server, refuses_disabled_digests_and_ttl_nodes) {
  zookeeper_options options;
  options.config = {{"DigestAuthenticationProvider.enabled", "false"},
                    {"extendedTypesEnabled", "false"}};
  zookeeper_server server{options};
  client zk{server.connect_string()};
  const create_options with_ttl{create_mode::persistent_ttl, 1s};
  EXPECT_EQ(code_of([&] { zk.create("/ttl", "", with_ttl); }), errc::unimplemented);
  const acl hers{{permission::all, "digest", "alice:2q9qXLRbqq7rPZPCAMsFBGhTgGs="}};
  EXPECT_EQ(code_of([&] {
              zk.create("/hers", "", create_options{create_mode::persistent, hers});
            }),
            errc::invalid_acl);
  EXPECT_TRUE(zk.exists("/")) << "the connection stays open";
  EXPECT_EQ(code_of([&] {
              zk.add_auth({"digest", secret::from_memory("alice:secret")});
            }),
            errc::auth_failed);
}

TEST_F(access_control, secrets_are_not_logged) {
  client_options options = as_user("dave:unguessable");
  inbox<std::string> log;
  options.log = [&](log_level, std::string_view line) { log.put(std::string{line}); };
  {
    client zk{where, options};
    zk.create(root + "/dave", "private data");
  }
  while (const auto line = log.take(0s)) {
    EXPECT_EQ(line->find("unguessable"), std::string::npos) << *line;
    EXPECT_EQ(line->find("private data"), std::string::npos) << *line;
  }
}

}  // namespace
}  // namespace conclave::testing
