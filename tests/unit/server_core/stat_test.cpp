// The fields of a stat, and zxids.

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

TEST(stat, of_a_new_node) {
  test_server server;
  server.set_wall_clock(1'700'000'000'123);
  auto& c = server.open_session();
  const auto s = c.ask(create2("/a", "12345")).stat;
  node_stat expected;
  expected.czxid = expected.mzxid = expected.pzxid = server.core().zxid();
  expected.ctime = expected.mtime = 1'700'000'000'123;
  expected.data_length = 5;
  EXPECT_EQ(s, expected);
}

TEST(stat, data_changes_are_counted_in_version) {
  test_server server;
  auto& c = server.open_session();
  const auto made = c.ask(create2("/a", "1")).stat;
  server.pass(3s);
  const auto s = c.ask(set("/a", "123")).stat;
  auto expected = made;
  expected.version = 1;
  expected.mzxid = server.core().zxid();
  expected.mtime = made.mtime + 3000;
  expected.data_length = 3;
  EXPECT_EQ(s, expected);
}

TEST(stat, acl_changes_are_counted_in_aversion_alone) {
  test_server server;
  auto& c = server.open_session();
  auto expected = c.ask(create2("/a", "1")).stat;
  server.pass(3s);
  expected.aversion = 1;
  EXPECT_EQ(c.ask(set_acl("/a", world(all_permissions))).stat, expected);
}

TEST(stat, children_are_counted_in_cversion_and_pzxid) {
  test_server server;
  auto& c = server.open_session();
  auto expected = c.ask(create2("/a")).stat;
  const auto step = [&](const request& r, int children, int cversion) {
    const auto zxid = c.ask(r).zxid;
    expected.num_children = children;
    expected.cversion = cversion;
    expected.pzxid = zxid;
    EXPECT_EQ(c.ask(exists("/a")).stat, expected) << cversion;
  };
  step(create("/a/1"), 1, 1);
  step(create("/a/2"), 2, 2);
  step(remove("/a/1"), 1, 3);
  step(create("/a/1"), 2, 4);
  step(remove("/a/2"), 1, 5);
  step(remove("/a/1"), 0, 6);
  server.crash();
  EXPECT_EQ(server.reconnect(c).ask(exists("/a")).stat, expected);
}

TEST(stat, grandchildren_and_data_of_children_change_nothing) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  c.ask(create("/a/b"));
  const auto before = c.ask(exists("/a")).stat;
  c.ask(create("/a/b/c"));
  c.ask(set("/a/b", "x"));
  c.ask(set_acl("/a/b", open_to_all()));
  EXPECT_EQ(c.ask(exists("/a")).stat, before);
}

TEST(stat, only_ephemeral_nodes_have_an_owner) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create_ephemeral("/e"));
  c.ask(create_container("/c"));
  c.ask(create_ttl("/t", 1000));
  c.ask(create("/p"));
  EXPECT_EQ(c.ask(exists("/e")).stat.ephemeral_owner, c.session());
  for (const auto path : {"/c", "/t", "/p"})
    EXPECT_EQ(c.ask(exists(path)).stat.ephemeral_owner, 0) << path;
}

TEST(stat, of_a_node_that_is_created_again_restarts) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a", "x"));
  c.ask(set("/a", "y"));
  c.ask(set_acl("/a", open_to_all()));
  c.ask(create("/a/b"));
  c.ask(remove("/a/b"));
  c.ask(remove("/a"));
  const auto s = c.ask(create2("/a")).stat;
  EXPECT_EQ(s.version, 0);
  EXPECT_EQ(s.cversion, 0);
  EXPECT_EQ(s.aversion, 0);
  EXPECT_EQ(s.pzxid, s.czxid);
  server.crash();
  EXPECT_EQ(server.reconnect(c).ask(exists("/a")).stat, s);
}

TEST(stat, of_a_node_that_is_created_again_in_one_turn_restarts_on_disk) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a", "x"));
  c.ask(create("/a/b"));
  server.turn([&] {
    c.send(remove("/a/b"));
    c.send(remove("/a"));
    c.send(create2("/a"));
  });
  c.next_reply(), c.next_reply();
  const auto s = c.next_reply().stat;
  server.crash();
  EXPECT_EQ(server.reconnect(c).ask(exists("/a")).stat, s);
}

TEST(stat, the_version_wraps_around) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  server.disk().nodes.at("/a").row.version = INT32_MAX;
  server.disk().nodes.at("/a").row.aversion = INT32_MAX;
  server.crash();
  auto& again = server.reconnect(c);
  EXPECT_EQ(again.ask(set("/a", "", INT32_MAX)).stat.version, INT32_MIN);
  EXPECT_EQ(again.ask(set("/a", "", INT32_MIN)).stat.version, INT32_MIN + 1);
  EXPECT_EQ(again.ask(set_acl("/a", open_to_all(), INT32_MAX)).stat.aversion, INT32_MIN);
}

// --- zxids

TEST(zxid, increases_with_each_change_but_not_with_a_read) {
  test_server server;
  auto& c = server.open_session();
  auto expected = server.core().zxid();
  for (const auto& r : {create("/a"), set("/a", "x"), set_acl("/a", open_to_all()), remove("/a")})
    EXPECT_EQ(c.ask(r).zxid, ++expected);
  for (const auto& r : {get("/"), exists("/x"), children("/"), sync("/"), check("/"), ping()})
    EXPECT_EQ(c.ask(r).zxid, expected);
}

TEST(zxid, continues_after_a_crash_although_the_last_change_left_no_rows) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  const auto last = c.ask(remove("/a")).zxid;
  server.crash();
  EXPECT_EQ(server.core().zxid(), last);
  EXPECT_EQ(server.reconnect(c).ask(create("/b")).zxid, last + 1);
}

TEST(zxid, starts_from_the_greater_of_the_stored_and_the_given_value) {
  const moment now{time_point{1h}, 0};
  image kept;
  EXPECT_EQ((core{default_options(), kept, 500, now}).zxid(), 500);
  kept.zxid = 700;
  EXPECT_EQ((core{default_options(), kept, 500, now}).zxid(), 700);
  EXPECT_EQ((core{default_options(), kept, 900, now}).zxid(), 900);
}

TEST(zxid, given_at_the_start_is_stored_first) {
  const moment now{time_point{1h}, 0};
  stored_rows disk;
  core first{default_options(), {}, 500, now};
  EXPECT_TRUE(first.has_changes());
  EXPECT_EQ(disk.apply(first.take_changes()), lines{});
  EXPECT_EQ(disk.zxid, 500);
  core same{default_options(), disk.load(), 500, now};
  EXPECT_FALSE(same.has_changes());
  core later{default_options(), disk.load(), 600, now};
  EXPECT_TRUE(later.has_changes());
  EXPECT_EQ(later.take_changes().zxid, 600);
}

}  // namespace
}  // namespace conclave::server_impl
