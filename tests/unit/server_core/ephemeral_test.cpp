// Ephemeral nodes.

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

TEST(ephemeral, nodes_are_removed_with_the_session_in_one_zxid) {
  test_server server;
  auto& owner = server.open_session();
  auto& other = server.open_session();
  other.ask(create("/a"));
  other.ask(create("/b"));
  owner.ask(create_ephemeral("/a/1"));
  owner.ask(create_ephemeral("/a/2"));
  owner.ask(create_ephemeral("/b/3"));
  owner.ask(create("/b/stays"));
  const auto before = server.core().zxid();
  owner.ask(close_session());
  EXPECT_EQ(server.core().zxid(), before + 1);
  EXPECT_EQ(other.ask(children("/a")).names, lines{});
  EXPECT_EQ(other.ask(children("/b")).names, lines{"stays"});
  EXPECT_EQ(other.ask(exists("/a")).stat.pzxid, before + 1);
  EXPECT_EQ(other.ask(exists("/b")).stat.pzxid, before + 1);
  EXPECT_EQ(server.core().nodes().ephemeral_count(), 0u);
}

TEST(ephemeral, nodes_are_removed_in_one_batch) {
  test_server server;
  auto& owner = server.open_session();
  owner.ask(create("/a"));
  owner.ask(create_ephemeral("/a/1"));
  owner.ask(create_ephemeral("/a/2"));
  const auto commits = server.commits();
  owner.ask(close_session());
  EXPECT_EQ(server.commits(), commits + 1);
  EXPECT_EQ(server.last_batch(), (lines{"-/a/1", "-/a/2", "+/a"}));
}

TEST(ephemeral, nodes_are_removed_when_the_session_expires) {
  test_server server;
  auto& owner = server.open_session(10s);
  owner.ask(create_ephemeral("/e"));
  auto& other = server.open_local_session();
  other.ask(exists("/e", watched));
  server.pass(9999ms);
  EXPECT_EQ(other.take_events(), lines{});
  server.pass(1ms);
  EXPECT_EQ(other.take_events(), lines{"removed /e"});
  EXPECT_TRUE(owner.closed());
  EXPECT_FALSE(server.stored().sessions.contains(owner.session()));
  EXPECT_FALSE(server.stored().nodes.contains("/e"));
}

TEST(ephemeral, nodes_stay_when_the_session_reconnects) {
  test_server server;
  auto* owner = &server.open_session(4s);
  owner->ask(create_ephemeral("/e"));
  for (int i = 0; i < 10; ++i) {
    owner->disconnect();
    server.pass(3s);
    owner = &server.reconnect(*owner, 4s);
  }
  EXPECT_EQ(owner->ask(exists("/e")).stat.ephemeral_owner, owner->session());
}

TEST(ephemeral, nodes_survive_a_crash_and_the_session_gets_its_full_timeout) {
  test_server server;
  auto& owner = server.open_session(10s);
  owner.ask(create_ephemeral("/e"));
  server.pass(9s);
  server.crash();
  server.pass(9999ms);
  EXPECT_TRUE(server.stored().nodes.contains("/e"));
  server.pass(1ms);
  EXPECT_FALSE(server.stored().nodes.contains("/e"));
  EXPECT_TRUE(server.stored().sessions.empty());
}

TEST(ephemeral, nodes_can_be_removed_and_created_by_another_session) {
  test_server server;
  auto& first = server.open_session();
  auto& second = server.open_session();
  first.ask(create_ephemeral("/e"));
  EXPECT_EQ(second.ask(remove("/e")), ok);
  EXPECT_EQ(second.ask(create_ephemeral("/e")), ok);
  EXPECT_EQ(first.ask(get_ephemerals()).names, lines{});
  first.ask(close_session());
  EXPECT_EQ(second.ask(exists("/e")).stat.ephemeral_owner, second.session());
}

TEST(ephemeral, nodes_created_and_removed_in_one_turn_are_not_stored) {
  test_server server;
  auto& owner = server.open_session();
  server.turn([&] {
    owner.send(create_ephemeral("/e"));
    owner.send(close_session());
  });
  EXPECT_EQ(server.last_batch(), lines{"+/"});
}

TEST(ephemeral, nodes_of_a_transaction) {
  test_server server;
  auto& owner = server.open_session();
  owner.ask(multi({create_ephemeral("/e"), create("/s-", "", mode::ephemeral_sequential)}));
  EXPECT_EQ(owner.ask(get_ephemerals()).names, (lines{"/e", "/s-0000000001"}));
  owner.ask(close_session());
  EXPECT_FALSE(server.stored().nodes.contains("/e"));
}

TEST(ephemeral, nodes_of_a_failed_transaction) {
  test_server server;
  auto& owner = server.open_session();
  owner.ask(create_ephemeral("/stays"));
  owner.ask(multi({remove("/stays"), create_ephemeral("/e"), check("/missing")}));
  EXPECT_EQ(owner.ask(get_ephemerals()).names, lines{"/stays"});
  EXPECT_EQ(server.core().nodes().ephemeral_count(), 1u);
  owner.ask(close_session());
  EXPECT_EQ(server.core().nodes().ephemeral_count(), 0u);
  EXPECT_FALSE(server.stored().nodes.contains("/stays"));
}

TEST(ephemeral, sessions_expire_independently) {
  test_server server;
  auto& a = server.open_session(5s);
  auto& b = server.open_session(5s);
  auto& c = server.open_session(8s);
  a.ask(create_ephemeral("/a"));
  b.ask(create_ephemeral("/b"));
  c.ask(create_ephemeral("/c"));
  const auto before = server.core().zxid();
  server.pass(5s);
  EXPECT_EQ(server.core().zxid(), before + 2) << "a zxid for each session";
  EXPECT_TRUE(server.stored().nodes.contains("/c"));
  server.pass(3s);
  EXPECT_FALSE(server.stored().nodes.contains("/c"));
}

}  // namespace
}  // namespace conclave::server_impl
