// A writer becomes a reader. No other writer is granted in between, and no fault leaves a node.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_test_world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

// A writer holds the lock. A reader, a writer and a reader wait. Each has its own client.
class four_contenders {
 public:
  explicit four_contenders(std::chrono::milliseconds timeout = 600s) : c{with(timeout)} {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(path);
    for (std::size_t i = 0; i < 4; ++i) {
      lockers.push_back(c.add(i, a_shared_mutex(path)));
      calls.push_back(lockers[i]->lock(i % 2 == 0 ? role::writer : role::reader));
      c.world.advance(20ms);
    }
  }
  static world_options with(std::chrono::milliseconds timeout) {
    world_options o;
    o.clients = 4;
    o.session_timeout = timeout;
    o.connect_wait = 10min;
    return o;
  }
  client& first() { return c.world.client(0); }
  void downgrade() { lockers[0]->downgrade(calls[0]); }
  bool downgraded() {
    return c.run_until([&] { return !lockers[0]->downgrades().empty(); });
  }
  void release(std::size_t i) { lockers[i]->unlock(calls[i]); }
  // Checks that all waiters are granted in order and no node is left.
  void finish() {
    for (std::size_t i = 1; i < 4; ++i) {
      ASSERT_TRUE(c.granted(calls[i])) << i;
      release(i);
    }
    c.check_end();
    EXPECT_EQ(lockers[0]->downgrades().size(), 1u);
  }

  lock_test_world c;
  const std::string path = "/locks/one";
  std::vector<locker_pointer> lockers;
  std::vector<call_pointer> calls;
};

TEST(downgrade, grants_the_lock_to_the_next_readers_but_to_no_writer) {
  for (const auto age : {0ms, 200ms}) {  // without and with a watch on its own node
    four_contenders l;
    l.c.world.advance(age);
    const auto token = l.calls[0]->hold->token();
    l.downgrade();
    ASSERT_TRUE(l.downgraded());
    EXPECT_FALSE(l.lockers[0]->downgrades()[0]);
    ASSERT_TRUE(l.c.granted(l.calls[1]));
    l.c.finish_pending_work();
    EXPECT_EQ(l.calls[2]->completions, 0);
    EXPECT_EQ(l.calls[3]->completions, 0);  // waits for a writer
    EXPECT_TRUE(l.calls[0]->held());
    EXPECT_EQ(l.calls[0]->hold->token(), token);
    EXPECT_EQ(l.lockers[0]->hold(role::writer), nullptr);
    EXPECT_EQ(l.lockers[0]->hold(role::reader), l.calls[0]->hold);
    const auto node = l.calls[0]->hold->nodes()[0];
    EXPECT_EQ(node, l.path + "/__READ__0000000000");
    EXPECT_TRUE(l.c.world.by_hand().exists(node));
    EXPECT_EQ(l.lockers[0]->journal(), lines{});
    l.release(1);
    l.c.finish_pending_work();
    EXPECT_EQ(l.calls[2]->completions, 0);
    l.release(0);
    l.calls[1]->unlocked = true;
    ASSERT_TRUE(l.c.granted(l.calls[2]));
    l.release(2);
    ASSERT_TRUE(l.c.granted(l.calls[3]));
    l.release(3);
    l.c.check_end();
  }
}

TEST(downgrade, a_writer_of_the_same_object_enters_the_wait_queue) {
  four_contenders l;
  const auto next = l.lockers[0]->lock(role::writer);
  l.downgrade();
  ASSERT_TRUE(l.downgraded());
  l.c.world.advance(20ms);
  EXPECT_EQ(l.c.children(l.path).size(), 5u);
  l.release(0);
  for (std::size_t i = 1; i < 4; ++i) {
    ASSERT_TRUE(l.c.granted(l.calls[i])) << i;
    l.release(i);
  }
  ASSERT_TRUE(l.c.granted(next));
  l.lockers[0]->unlock(next);
  l.c.check_end();
}

TEST(downgrade, a_downgraded_hold_is_suspended_restored_and_lost_like_any_other) {
  four_contenders l{10s};
  l.downgrade();
  ASSERT_TRUE(l.downgraded());
  l.first().disconnect();
  l.c.finish_pending_work();
  EXPECT_EQ(l.lockers[0]->journal(), (lines{"suspended", "restored"}));
  EXPECT_TRUE(l.calls[0]->held());
  l.c.world.by_hand().remove(l.calls[0]->hold->nodes()[0]);
  ASSERT_TRUE(l.c.lost(l.calls[0]));
  l.release(0);
  l.finish();
}

TEST(downgrade, fails_without_a_hold_or_with_a_lost_hold) {
  four_contenders l{10s};
  const auto other = l.c.add(3, a_shared_mutex("/locks/two"));
  other->downgrade(std::make_shared<call>());
  l.c.world.advance(10ms);
  EXPECT_EQ(other->downgrades(), std::vector<error_code>{errc::lock_lost});
  l.c.world.advance(200ms);
  l.calls[0]->node_was_deleted = true;
  l.c.world.by_hand().remove(l.calls[0]->hold->nodes()[0]);
  ASSERT_TRUE(l.c.lost(l.calls[0]));
  l.downgrade();
  ASSERT_TRUE(l.downgraded());
  EXPECT_EQ(l.lockers[0]->downgrades()[0], errc::lock_lost);
  l.release(0);
  l.finish();
}

TEST(downgrade, fails_if_the_node_was_deleted) {
  four_contenders l;
  l.calls[0]->node_was_deleted = true;
  l.c.world.by_hand().remove(l.calls[0]->hold->nodes()[0]);
  l.downgrade();  // before the holder notices
  ASSERT_TRUE(l.downgraded());
  EXPECT_EQ(l.lockers[0]->downgrades()[0], errc::lock_lost);
  ASSERT_TRUE(l.c.lost(l.calls[0]));
  l.release(0);
  l.finish();
}

TEST(downgrade, two_requests_complete_separately) {
  four_contenders l;
  l.first().disconnect();  // the holder first verifies its node on the new connection
  ASSERT_TRUE(l.c.run_until([&] { return l.first().is_connected(); }));
  l.downgrade();
  l.downgrade();
  l.c.finish_pending_work();
  EXPECT_EQ(l.lockers[0]->downgrades().size(), 2u);
  l.release(0);
  for (std::size_t i = 1; i < 4; ++i) {
    ASSERT_TRUE(l.c.granted(l.calls[i])) << i;
    l.release(i);
  }
  l.c.check_end();
}

// --- faults

TEST(downgrade, happens_once_if_its_request_or_reply_is_lost) {
  for (const bool request : {true, false})
    for (const auto how : disconnect_styles) {
      four_contenders l;
      request ? l.first().drop_request(opcode::multi, how)
              : l.first().drop_reply(opcode::multi, how);
      l.downgrade();
      ASSERT_TRUE(l.downgraded());
      EXPECT_FALSE(l.lockers[0]->downgrades()[0]);
      l.c.finish_pending_work();
      EXPECT_EQ(l.c.children(l.path).size(), 4u);
      EXPECT_TRUE(l.calls[0]->held());
      EXPECT_EQ(l.calls[2]->completions, 0);
      l.release(0);
      l.finish();
      ASSERT_FALSE(testing::Test::HasFailure());
    }
}

TEST(downgrade, happens_once_if_the_server_times_out) {
  four_contenders l;
  l.first().replace_reply(opcode::multi, errc::operation_timeout);
  l.downgrade();
  ASSERT_TRUE(l.downgraded());
  EXPECT_FALSE(l.lockers[0]->downgrades()[0]);
  l.c.finish_pending_work();
  EXPECT_EQ(l.c.children(l.path).size(), 4u);
  EXPECT_TRUE(l.calls[0]->held());
  l.release(0);
  l.finish();
}

TEST(downgrade, succeeds_if_its_reply_is_lost_and_the_readers_node_is_overwritten) {
  four_contenders l;
  l.first().drop_reply(opcode::multi);
  l.first().refuse_connections(true);
  l.downgrade();
  l.c.world.advance(50ms);
  ASSERT_FALSE(l.c.world.by_hand().set(l.path + "/__READ__0000000000", "__REVOKE__"));
  l.first().refuse_connections(false);
  ASSERT_TRUE(l.downgraded());
  EXPECT_FALSE(l.lockers[0]->downgrades()[0]) << name_of(l.lockers[0]->downgrades()[0]);
  l.c.finish_pending_work();
  EXPECT_TRUE(l.calls[0]->held());
  l.release(0);
  l.finish();
}

TEST(downgrade, keeps_the_order_if_the_connection_is_lost_after_any_frame) {
  int disconnects = 0;
  for (const auto way : {direction::up, direction::down})
    for (const auto how : disconnect_styles)
      for (const auto age : {0ms, 200ms})
        for (std::size_t n = 1;; ++n) {
          SCOPED_TRACE(testing::Message() << "frame " << n << (way == direction::up ? " up" : "")
                                          << ", late " << how.requests_arrive << ", at once "
                                          << how.before_notices << ", age " << age.count());
          four_contenders l;
          l.c.world.advance(age);
          l.first().disconnect_after_frames(way, n, how);
          l.downgrade();
          ASSERT_TRUE(l.downgraded());
          EXPECT_FALSE(l.lockers[0]->downgrades()[0]);
          l.c.world.advance(100ms);
          EXPECT_TRUE(l.calls[0]->held());
          EXPECT_EQ(l.calls[2]->completions, 0);
          l.release(0);
          l.finish();
          ASSERT_FALSE(testing::Test::HasFailure());
          if (l.first().fault_pending()) break;
          ++disconnects;
        }
  EXPECT_GT(disconnects, 20);
}

TEST(downgrade, a_release_during_it_leaves_no_node) {
  int in_the_middle = 0;
  for (int fault = 0; fault < 4; ++fault)
    for (const auto how : disconnect_styles)
      for (int k = 0;; ++k) {
        SCOPED_TRACE(testing::Message()
                     << "event " << k << ", fault " << fault << ", late " << how.requests_arrive
                     << ", at once " << how.before_notices);
        four_contenders l;
        if (fault == 1) l.first().drop_request(opcode::multi, how);
        if (fault == 2) l.first().drop_reply(opcode::multi, how);
        if (fault == 3) l.first().disconnect_after_frames(direction::down, 1, how);
        l.downgrade();
        for (int i = 0; i < k; ++i) l.c.world.step();
        const bool over = !l.lockers[0]->downgrades().empty();
        in_the_middle += !over;
        l.release(0);
        l.finish();
        ASSERT_FALSE(testing::Test::HasFailure());
        if (over) break;
      }
  EXPECT_GT(in_the_middle, 30);
}

TEST(downgrade, the_hold_is_lost_if_the_session_expires_after_any_frame) {
  int lost = 0;
  for (const auto way : {direction::up, direction::down})
    for (const auto how : disconnect_styles)
      for (std::size_t n = 1; n < 6; ++n) {
        SCOPED_TRACE(testing::Message() << "frame " << n << (way == direction::up ? " up" : ""));
        four_contenders l{10s};
        l.first().disconnect_after_frames(way, n, how);
        l.first().refuse_connections(true);
        l.downgrade();
        ASSERT_TRUE(
            l.c.run_until([&] { return l.calls[0]->lost() || !l.first().fault_pending(); }));
        if (l.first().fault_pending()) break;
        ASSERT_TRUE(l.c.lost(l.calls[0]));
        ++lost;
        // After the loss was reported, the downgrade must not report success.
        const bool completed_before = !l.lockers[0]->downgrades().empty();
        l.c.world.advance(20s);
        l.first().refuse_connections(false);
        ASSERT_TRUE(l.downgraded());
        EXPECT_TRUE(completed_before || l.lockers[0]->downgrades()[0]);
        l.release(0);
        l.finish();
        ASSERT_FALSE(testing::Test::HasFailure());
      }
  EXPECT_GT(lost, 8);
}

// The caller must not wait for a reconnect.
TEST(downgrade, fails_while_disconnected_when_the_hold_is_lost) {
  four_contenders l{10s};
  l.first().refuse_connections(true);
  l.first().disconnect();
  l.downgrade();
  ASSERT_TRUE(l.c.lost(l.calls[0]));
  l.c.world.advance(1ms);
  EXPECT_EQ(l.lockers[0]->downgrades(), std::vector<error_code>{errc::lock_lost});
  l.first().refuse_connections(false);
  l.release(0);
  l.finish();
}

// There contenders are ordered by czxid, and the reader's node would be newer than the waiters'.
TEST(downgrade, near_the_last_sequence_number_fails_and_grants_no_writer) {
  lock_test_world c{{.clients = 3}};
  const std::string path = "/locks/one";
  auto& hand = c.world.by_hand();
  hand.create("/locks");
  hand.create(path);
  hand.create(path + "/x");
  hand.remove(path + "/x");
  c.world.set_counter(path, 2147483000);
  const auto l = c.add(0, a_shared_mutex(path)), m = c.add(1, a_shared_mutex(path));
  const auto a = l->lock(role::writer);
  ASSERT_TRUE(c.granted(a));
  const auto b = m->lock(role::writer);
  c.world.advance(50ms);
  l->downgrade(a);
  ASSERT_TRUE(c.run_until([&] { return !l->downgrades().empty(); }));
  EXPECT_EQ(l->downgrades()[0], errc::not_supported);
  c.finish_pending_work();
  EXPECT_EQ(b->completions, 0);
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
}

// The waiters are no longer ordered by number, but the reader must still precede them.
TEST(downgrade, shortly_before_the_last_sequence_numbers_grants_no_writer) {
  for (const auto& names : {layout::curator(), layout::kazoo()}) {
    SCOPED_TRACE(names.name());
    lock_test_world c{four_contenders::with(600s)};
    const std::string path = "/locks/one";
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(path);
    c.world.by_hand().create(path + "/x");
    c.world.set_counter(path, 2147483647 - 0xffff - 1);
    auto shared = a_shared_mutex(path), exclusive = a_mutex({path});
    shared.request.layout = exclusive.request.layout = names;
    const auto first = c.add(0, shared), second = c.add(1, shared), third = c.add(2, exclusive);
    const auto w = first->lock(role::writer);
    ASSERT_TRUE(c.granted(w));
    const auto behind = second->lock(role::writer);
    c.world.advance(50ms);
    const auto last = third->lock(role::exclusive);
    c.finish_pending_work();
    first->downgrade(w);
    ASSERT_TRUE(c.run_until([&] { return !first->downgrades().empty(); }));
    EXPECT_FALSE(first->downgrades()[0]);
    c.finish_pending_work();
    EXPECT_EQ(behind->completions + last->completions, 0);
    first->unlock(w);
    ASSERT_TRUE(c.granted(behind));
    c.finish_pending_work();
    EXPECT_EQ(last->completions, 0);
    second->unlock(behind);
    ASSERT_TRUE(c.granted(last));
    third->unlock(last);
    c.finish_pending_work();
  }
}

}  // namespace
}  // namespace conclave::simulated
