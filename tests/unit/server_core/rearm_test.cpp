// A reconnected client sends its watches and the last zxid that it has seen.

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

struct rearming : ::testing::Test {
  test_server server;
  client& other = server.open_session();
  client& c = server.open_session();
  std::int64_t seen = 0;

  rearming() {
    other.ask(create("/a"));
    other.ask(create("/b"));
    other.ask(create("/a/x"));
    seen = other.last_zxid();
  }
};

TEST_F(rearming, nothing_was_missed) {
  EXPECT_EQ(c.ask(set_watches(seen, {"/a"}, {"/none"}, {"/a"})), ok);
  EXPECT_EQ(c.take_events(), lines{});
  other.ask(set("/a", "x"));
  EXPECT_EQ(c.take_events(), lines{"changed /a"});
  other.ask(create("/a/y"));
  EXPECT_EQ(c.take_events(), lines{"children /a"});
  other.ask(create("/none"));
  EXPECT_EQ(c.take_events(), lines{"created /none"});
  other.ask(multi({set("/a", "y"), create("/a/z"), remove("/none")}));
  EXPECT_EQ(c.take_events(), lines{}) << "each watch fires once";
}

TEST_F(rearming, missed_events_are_sent_once_before_the_reply) {
  other.ask(set("/a", "x"));
  other.ask(create("/a/y"));
  other.ask(create("/new"));
  c.take_journal();
  c.ask(set_watches(seen, {"/a"}, {"/new"}, {"/a"}));
  EXPECT_EQ(c.take_journal(), (lines{"changed /a", "created /new", "children /a", "answer -8"}));
  other.ask(multi({set("/a", "y"), create("/a/z"), remove("/new")}));
  EXPECT_EQ(c.take_events(), lines{});
}

TEST_F(rearming, a_node_removed_meanwhile) {
  other.ask(remove("/a/x"));
  other.ask(remove("/a"));
  c.ask(set_watches(seen, {"/a"}, {}, {"/a"}));
  EXPECT_EQ(c.take_events(), (lines{"removed /a", "removed /a"}));
  EXPECT_EQ(server.core().data_watches().count(), 0u);
  EXPECT_EQ(server.core().child_watches().count(), 0u);
}

TEST_F(rearming, a_node_removed_and_created_again_meanwhile) {
  other.ask(remove("/b"));
  other.ask(create("/b"));
  c.ask(set_watches(seen, {"/b"}, {}, {"/b"}));
  EXPECT_EQ(c.take_events(), (lines{"changed /b", "children /b"}));
}

TEST_F(rearming, a_child_removed_meanwhile) {
  other.ask(remove("/a/x"));
  c.ask(set_watches(seen, {"/a"}, {}, {"/a"}));
  EXPECT_EQ(c.take_events(), lines{"children /a"});
  EXPECT_EQ(server.core().data_watches().count(), 1u);
}

TEST_F(rearming, compares_with_the_zxid) {
  const auto changed = other.ask(set("/b", "x")).zxid;
  c.ask(set_watches(changed, {"/b"}, {}, {"/"}));
  EXPECT_EQ(c.take_events(), lines{}) << "its own change was seen";
  c.ask(set_watches(changed - 1, {"/b"}, {}, {"/"}));
  EXPECT_EQ(c.take_events(), lines{"changed /b"});
}

TEST_F(rearming, set_watches2_includes_persistent_watches) {
  other.ask(set("/a", "missed"));
  EXPECT_EQ(c.ask(set_watches2(seen, {"/b"}, {"/none"}, {"/b"}, {"/a"}, {"/b"})), ok);
  EXPECT_EQ(c.take_events(), lines{}) << "persistent watches get no missed events";
  other.ask(set("/a", "x"));
  other.ask(create("/a/y"));
  other.ask(set("/a", "y"));
  EXPECT_EQ(c.take_events(), (lines{"changed /a", "children /a", "changed /a"}));
  other.ask(create("/b/y"));
  other.ask(set("/b/y", "x"));
  EXPECT_EQ(c.take_events(), (lines{"created /b/y", "children /b", "changed /b/y"}));
  other.ask(set("/b", "x"));
  other.ask(set("/b", "y"));
  other.ask(create("/none"));
  EXPECT_EQ(c.take_events(), (lines{"changed /b", "changed /b", "created /none"}));
}

TEST_F(rearming, after_a_reconnect_no_event_is_lost) {
  c.ask(get("/a", watched));
  c.ask(children("/b", watched));
  const auto last = c.last_zxid();
  c.disconnect();
  other.ask(set("/a", "x"));
  other.ask(create("/b/x"));
  auto& again = server.reconnect(c);
  again.ask(set_watches(last, {"/a"}, {}, {"/b"}));
  EXPECT_EQ(again.take_events(), (lines{"changed /a", "children /b"}));
}

TEST_F(rearming, without_watches) {
  EXPECT_EQ(c.ask(set_watches(0, {}, {}, {})), ok);
  EXPECT_EQ(c.ask(set_watches2(0, {}, {}, {}, {}, {})), ok);
  EXPECT_EQ(c.take_events(), lines{});
}

}  // namespace
}  // namespace conclave::server_impl
