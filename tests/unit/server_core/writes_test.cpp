// Requests that change a node: their replies, and the order in which errors are detected.

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

using namespace std::string_view_literals;

acl all_but(std::int32_t permission) { return world(all_permissions & ~permission); }
const acl no_acl;

struct refusal {
  std::string_view why;
  request what;
  errc error;
};

// Checks that each request fails as expected, uses no zxid, changes no row and causes no event.
void expect_refused(test_server& server, client& c, const std::vector<refusal>& all) {
  auto& watcher = server.open_session();
  watcher.ask(add_recursive_watch("/"));
  const auto zxid = server.core().zxid();
  const auto commits = server.commits();
  for (const auto& r : all) {
    const auto got = c.ask(r.what);
    EXPECT_EQ(got, r.error) << r.why;
    EXPECT_EQ(got.zxid, zxid) << r.why;
    EXPECT_EQ(got.body_size, 0u) << r.why;
    EXPECT_FALSE(c.closed()) << r.why;
  }
  EXPECT_EQ(server.core().zxid(), zxid);
  EXPECT_EQ(server.commits(), commits);
  EXPECT_EQ(watcher.take_events(), lines{});
}

// --- create

TEST(create, returns_the_path) {
  test_server server;
  auto& c = server.open_session();
  const auto made = c.ask(create("/a", "x"));
  EXPECT_EQ(made, ok);
  EXPECT_EQ(made.path, "/a");
  EXPECT_EQ(made.zxid, c.ask(exists("/a")).stat.czxid);
}

TEST(create, create2_containers_and_ttl_return_the_stat) {
  test_server server;
  auto& c = server.open_session();
  const auto answered = [&](const request& r, std::string_view path) {
    const auto made = c.ask(r);
    EXPECT_EQ(made, ok) << path;
    EXPECT_EQ(made.path, path);
    EXPECT_EQ(made.stat, c.ask(exists(path)).stat) << path;
    EXPECT_EQ(made.stat.czxid, made.zxid) << path;
  };
  answered(create2("/a", "data"), "/a");
  answered(create2("/s-", "", mode::sequential), "/s-0000000001");
  answered(create_container("/c"), "/c");
  answered(create_ttl("/t", 1000), "/t");
}

TEST(create, objections_in_order) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create_with("/closed", all_but(permission::create)));
  c.ask(create("/open"));
  c.ask(create("/open/there"));
  c.ask(create_ephemeral("/short"));
  using wire::opcode;
  expect_refused(
      server, c,
      {
          {"unknown flags", create("no path", "", 7, no_acl), errc::bad_arguments},
          {"flags below zero", create("/a", "", -1), errc::bad_arguments},
          {"a TTL without one", create("/a", "", mode::ttl), errc::bad_arguments},
          {"a TTL without one", create2("/a", "", mode::sequential_ttl), errc::bad_arguments},
          {"a TTL of nothing", create_ttl("/a", 0), errc::bad_arguments},
          {"a TTL below zero", create_ttl("/a", -1), errc::bad_arguments},
          {"a TTL above 40 bits", create_ttl("/a", std::int64_t{1} << 40), errc::bad_arguments},
          {"a TTL for another mode", create_ttl("/a", 10, mode::persistent), errc::bad_arguments},
          {"a TTL for another mode", create_ttl("/a", 10, mode::ephemeral), errc::bad_arguments},
          {"no slash, then no ACL", create("a", "", 0, no_acl), errc::bad_arguments},
          {"a zero byte", create("/a\0"sv, "", 0, no_acl), errc::bad_arguments},
          {"no ACL, then no parent", create("/no/a", "", 0, no_acl), errc::invalid_acl},
          {"no parent", create("/no/a"), errc::no_node},
          {"not even a slash at the beginning", create("x/a"), errc::no_node},
          {"a slash too many: a parent called /open/", create("/open//a"), errc::no_node},
          {"not allowed, then a bad path", create("/closed/."), errc::no_auth},
          {"not allowed, then there already", create("/closed/x"), errc::no_auth},
          {"a bad path", create("/open/."), errc::bad_arguments},
          {"a bad path", create("/open/.."), errc::bad_arguments},
          {"a slash at the end", create("/open/"), errc::bad_arguments},
          {"a control character", create("/open/\x01"), errc::bad_arguments},
          {"there already", create("/open/there"), errc::node_exists},
          {"there already", create("/"), errc::node_exists},
          {"below an ephemeral node", create("/short/a"), errc::no_children_for_ephemerals},
          {"below one, in a sequence", create_sequential("/short/"),
           errc::no_children_for_ephemerals},
          {"a null path", create({}), errc::marshalling_error},
      });
}

TEST(create, an_invalid_path_can_become_valid_with_its_sequence_number) {
  test_server server;
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(create_sequential("/.")).path, "/.0000000000");
  EXPECT_EQ(c.ask(create_sequential("/")).path, "/0000000001");
}

TEST(create, the_container_flag_alone_makes_no_container) {
  test_server server;
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(create("/a", "", mode::container)), ok);
  EXPECT_EQ(server.stored().nodes.at("/a").row.kind, node_kind::persistent);
  EXPECT_EQ(
      c.ask(create("/b", "", mode::sequential, open_to_all(), wire::opcode::create_container)).path,
      "/b0000000001");
  EXPECT_EQ(server.stored().nodes.at("/b0000000001").row.kind, node_kind::container);
}

// --- delete

TEST(remove, returns_nothing) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  const auto gone = c.ask(remove("/a"));
  EXPECT_EQ(gone, ok);
  EXPECT_EQ(gone.body_size, 0u);
  EXPECT_EQ(c.ask(exists("/a")), errc::no_node);
}

TEST(remove, by_version) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  c.ask(set("/a", "x"));
  EXPECT_EQ(c.ask(remove("/a", 0)), errc::bad_version);
  EXPECT_EQ(c.ask(remove("/a", 2)), errc::bad_version);
  EXPECT_EQ(c.ask(remove("/a", 1)), ok);
}

TEST(remove, objections_in_order) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create_with("/closed", all_but(permission::remove)));
  c.ask(create("/closed/x"));
  c.ask(create("/full"));
  c.ask(create("/full/x"));
  expect_refused(server, c,
                 {
                     {"no slash", remove("a"), errc::bad_arguments},
                     {"a zero byte", remove("/full\0"sv), errc::bad_arguments},
                     {"the root", remove("/"), errc::bad_arguments},
                     {"the server's own", remove("/zookeeper"), errc::bad_arguments},
                     {"the server's own", remove("/zookeeper/quota"), errc::bad_arguments},
                     {"the server's own", remove("/zookeeper/config", 99), errc::bad_arguments},
                     {"no parent", remove("/no/x"), errc::no_node},
                     {"not allowed, then none", remove("/closed/missing"), errc::no_auth},
                     {"not allowed, then a version", remove("/closed/x", 9), errc::no_auth},
                     {"none", remove("/missing"), errc::no_node},
                     {"a slash at the end", remove("/full/"), errc::no_node},
                     {"a version, then children", remove("/full", 9), errc::bad_version},
                     {"below -1 too", remove("/full", -2), errc::bad_version},
                     {"children", remove("/full"), errc::not_empty},
                     {"a null path", remove({}), errc::marshalling_error},
                 });
}

TEST(remove, needs_a_permission_on_the_parent_and_none_on_the_node) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create_with("/a", world(permission::read)));
  EXPECT_EQ(c.ask(remove("/a")), ok);
}

// --- setData

TEST(set_data, answers_the_stat) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  const auto changed = c.ask(set("/a", "new"));
  EXPECT_EQ(changed, ok);
  EXPECT_EQ(changed.stat, c.ask(exists("/a")).stat);
  EXPECT_EQ(changed.stat.version, 1);
  EXPECT_EQ(changed.stat.mzxid, changed.zxid);
  EXPECT_EQ(c.ask(set("/a", "newer", 1)).stat.version, 2);
  EXPECT_EQ(c.ask(set("/", "the root as well")), ok);
}

TEST(set_data, objections_in_order) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create_with("/closed", all_but(permission::write)));
  c.ask(create("/a"));
  expect_refused(server, c,
                 {
                     {"a bad path", set("a", "x"), errc::bad_arguments},
                     {"a bad path", set("/a/", "x"), errc::bad_arguments},
                     {"a bad path", set("/a//b", "x"), errc::bad_arguments},
                     {"a null path", set({}, "x"), errc::bad_arguments},
                     {"none", set("/missing", "x", 3), errc::no_node},
                     {"not allowed, then a version", set("/closed", "x", 3), errc::no_auth},
                     {"a version", set("/a", "x", 1), errc::bad_version},
                     {"below -1", set("/a", "x", -2), errc::bad_version},
                 });
}

// --- setACL

TEST(set_acl, answers_the_stat) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  const auto changed = c.ask(set_acl("/a", world(permission::read | permission::admin)));
  EXPECT_EQ(changed, ok);
  EXPECT_EQ(changed.stat, c.ask(exists("/a")).stat);
  EXPECT_EQ(changed.stat.aversion, 1);
  EXPECT_EQ(changed.stat.version, 0);
  EXPECT_EQ(changed.zxid, server.core().zxid());
  EXPECT_EQ(c.ask(set("/a", "x")), errc::no_auth);
  EXPECT_EQ(c.ask(set_acl("/a", open_to_all(), 1)).stat.aversion, 2);
  EXPECT_EQ(c.ask(set("/a", "x")), ok);
}

TEST(set_acl, takes_a_zxid) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  const auto before = server.core().zxid();
  c.ask(set_acl("/a", open_to_all()));
  EXPECT_EQ(server.core().zxid(), before + 1);
  EXPECT_EQ(server.stored().nodes.at("/a").row.aversion, 1);
}

TEST(set_acl, objections_in_order) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create_with("/closed", all_but(permission::admin)));
  c.ask(create("/a"));
  c.ask(set("/a", "version 1, aversion 0"));
  expect_refused(
      server, c,
      {
          {"a bad path, then no ACL", set_acl("a", no_acl), errc::bad_arguments},
          {"a null path", set_acl({}, no_acl), errc::bad_arguments},
          {"no ACL, then none", set_acl("/missing", no_acl), errc::invalid_acl},
          {"none", set_acl("/missing", open_to_all()), errc::no_node},
          {"not allowed, then a version", set_acl("/closed", open_to_all(), 3), errc::no_auth},
          {"the version is the ACL's", set_acl("/a", open_to_all(), 1), errc::bad_version},
      });
}

// --- check

TEST(check, changes_nothing) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  const auto before = server.core().zxid();
  EXPECT_EQ(c.ask(check("/a")), ok);
  EXPECT_EQ(c.ask(check("/a", 0)), ok);
  EXPECT_EQ(server.core().zxid(), before);
}

TEST(check, objections_in_order) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create_with("/closed", all_but(permission::read)));
  c.ask(create("/a"));
  expect_refused(server, c,
                 {
                     {"a bad path", check("a"), errc::bad_arguments},
                     {"a null path", check({}), errc::bad_arguments},
                     {"none", check("/missing", 3), errc::no_node},
                     {"not allowed, then a version", check("/closed", 3), errc::no_auth},
                     {"a version", check("/a", 1), errc::bad_version},
                 });
}

}  // namespace
}  // namespace conclave::server_impl
