// While nothing can be stored, reads work, writes are refused, and no session expires.

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

struct full_disk : ::testing::Test {
  test_server server;
  client& c = server.open_session(10s);
  std::int64_t zxid = 0;
  int commits = 0;

  full_disk() {
    c.ask(create("/a", "data"));
    c.ask(create_ephemeral("/e"));
    c.ask(create_container("/c"));
    c.ask(create("/c/x"));
    c.ask(remove("/c/x"));
    zxid = server.core().zxid();
    commits = server.commits();
    server.core().set_writable(false);
  }

  void expect_nothing_to_store() {
    EXPECT_FALSE(server.core().has_changes());
    EXPECT_EQ(server.core().zxid(), zxid);
    EXPECT_EQ(server.commits(), commits);
  }
};

TEST_F(full_disk, reads_work) {
  EXPECT_EQ(c.ask(get("/a", watched)).data, "data");
  EXPECT_EQ(c.ask(children("/")), ok);
  EXPECT_EQ(c.ask(exists("/a")), ok);
  EXPECT_EQ(c.ask(multi_read({get("/a")})), ok);
  EXPECT_EQ(c.ask(get_ephemerals()), ok);
  EXPECT_EQ(c.ask(sync("/")), ok);
  EXPECT_EQ(c.ask(ping()), ok);
  EXPECT_EQ(c.ask(set_watches(0, {"/a"}, {}, {})), ok);
  EXPECT_EQ(c.ask(auth("digest", "ann:secret")), ok);
  expect_nothing_to_store();
}

TEST_F(full_disk, writes_are_refused) {
  for (const auto& r :
       {create("/new"), create2("/new"), create_container("/new"), create_ttl("/new", 1000),
        create_ephemeral("/new"), remove("/a"), set("/a", "x"), set_acl("/a", open_to_all()),
        multi({create("/new")}), multi({check("/a")}), multi({})}) {
    EXPECT_EQ(c.ask(r), errc::system_error) << static_cast<int>(r.type);
    EXPECT_FALSE(c.closed());
  }
  expect_nothing_to_store();
}

TEST_F(full_disk, new_sessions_are_refused) {
  auto& late = server.open_session();
  EXPECT_TRUE(late.closed());
  EXPECT_FALSE(late.handshake());
  expect_nothing_to_store();
}

TEST_F(full_disk, sessions_can_reconnect_and_keep_their_timeout) {
  auto& again = server.reconnect(c, 20s);
  EXPECT_EQ(again.session(), c.session());
  EXPECT_EQ(again.handshake()->timeout_ms, 10'000);
  EXPECT_EQ(again.ask(get("/e")), ok);
  expect_nothing_to_store();
}

TEST_F(full_disk, sessions_cannot_be_closed) {
  EXPECT_EQ(c.ask(close_session()), errc::system_error);
  EXPECT_TRUE(c.closed());
  EXPECT_TRUE(server.core().awaits_reconnect(c.session()));
  EXPECT_EQ(server.reconnect(c).ask(exists("/e")), ok);
  expect_nothing_to_store();
}

TEST_F(full_disk, no_session_expires_and_no_node_is_reaped) {
  auto& watcher = server.reconnect(c);
  watcher.ask(add_recursive_watch("/"));
  server.pass(1h);
  EXPECT_TRUE(server.is_alive(c.session()));
  EXPECT_EQ(watcher.ask(exists("/c")), ok);
  EXPECT_EQ(watcher.take_events(), lines{});
  expect_nothing_to_store();
}

// Otherwise the owner would wake up repeatedly without a result.
TEST_F(full_disk, the_owner_is_not_woken) {
  EXPECT_EQ(server.core().next_deadline(), time_point::max());
  server.core().set_writable(true);
  EXPECT_EQ(server.core().next_deadline(), server.now() + 10s);
}

TEST_F(full_disk, the_end_of_a_process_cannot_be_stored) {
  server.core().set_writable(true);
  auto& bound = server.open_local_session(4s);
  zxid = server.core().zxid();
  commits = server.commits();
  server.core().set_writable(false);
  bound.disconnect();
  server.turn([&] { server.core().process_ended(bound.session()); });
  EXPECT_TRUE(server.is_alive(bound.session()));
  expect_nothing_to_store();
  server.core().set_writable(true);
  server.pass(4s);
  EXPECT_FALSE(server.is_alive(bound.session())) << "it expires like a disconnected session";
}

TEST_F(full_disk, continues_when_there_is_space) {
  server.core().set_writable(false);
  server.pass(9s);
  c.ask(ping());
  server.core().set_writable(true);
  EXPECT_EQ(c.ask(set("/a", "x")).zxid, zxid + 1);
  server.pass(10s);
  EXPECT_FALSE(server.is_alive(c.session()));
}

TEST_F(full_disk, overdue_sessions_expire_when_there_is_space) {
  c.disconnect();
  server.pass(1h);
  EXPECT_TRUE(server.is_alive(c.session()));
  server.core().set_writable(true);
  server.turn();
  EXPECT_FALSE(server.is_alive(c.session()));
}

// After a failed commit, the next core continues with the same zxid. This is not a change that must
// be stored at once.
TEST_F(full_disk, a_core_that_starts_on_a_full_disk_has_nothing_to_store) {
  core fresh{default_options(), server.stored().load(), zxid + 10, {server.now(), 0}};
  fresh.set_writable(false);
  EXPECT_FALSE(fresh.has_changes());
  fresh.set_writable(true);
  EXPECT_TRUE(fresh.has_changes());
  EXPECT_EQ(fresh.take_changes().zxid, zxid + 10);
}

}  // namespace
}  // namespace conclave::server_impl
