// A writer that becomes a reader: nobody comes between, and nothing is left behind whatever breaks.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_contest.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

// A writer in, and behind it a reader, a writer and a reader, each of a client of its own.
class line_of_four {
 public:
  explicit line_of_four(std::chrono::milliseconds timeout = 600s) : c{with(timeout)} {
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
  void out(std::size_t i) { lockers[i]->unlock(calls[i]); }
  // Everybody behind gets it, in order, and nothing is left.
  void finish() {
    for (std::size_t i = 1; i < 4; ++i) {
      ASSERT_TRUE(c.granted(calls[i])) << i;
      out(i);
    }
    c.check_end();
    EXPECT_EQ(lockers[0]->downgrades().size(), 1u);
  }

  lock_contest c;
  const std::string path = "/locks/one";
  std::vector<locker_pointer> lockers;
  std::vector<call_pointer> calls;
};

TEST(downgrade, lets_the_readers_behind_it_in_and_no_writer) {
  for (const auto age : {0ms, 200ms}) {  // whether it watches itself
    line_of_four l;
    l.c.world.advance(age);
    const auto token = l.calls[0]->hold->token();
    l.downgrade();
    ASSERT_TRUE(l.downgraded());
    EXPECT_FALSE(l.lockers[0]->downgrades()[0]);
    ASSERT_TRUE(l.c.granted(l.calls[1]));
    l.c.quieten();
    EXPECT_EQ(l.calls[2]->told, 0);
    EXPECT_EQ(l.calls[3]->told, 0);  // behind a writer
    EXPECT_TRUE(l.calls[0]->held());
    EXPECT_EQ(l.calls[0]->hold->token(), token);
    EXPECT_EQ(l.lockers[0]->hold(role::writer), nullptr);
    EXPECT_EQ(l.lockers[0]->hold(role::reader), l.calls[0]->hold);
    const auto node = l.calls[0]->hold->nodes()[0];
    EXPECT_EQ(node, l.path + "/__READ__0000000000");
    EXPECT_TRUE(l.c.world.by_hand().exists(node));
    EXPECT_EQ(l.lockers[0]->journal(), lines{});
    l.out(1);
    l.c.quieten();
    EXPECT_EQ(l.calls[2]->told, 0);
    l.out(0);
    l.calls[1]->unlocked = true;
    ASSERT_TRUE(l.c.granted(l.calls[2]));
    l.out(2);
    ASSERT_TRUE(l.c.granted(l.calls[3]));
    l.out(3);
    l.c.check_end();
  }
}

TEST(downgrade, a_writer_of_the_same_object_goes_into_the_line_behind_it) {
  line_of_four l;
  const auto next = l.lockers[0]->lock(role::writer);
  l.downgrade();
  ASSERT_TRUE(l.downgraded());
  l.c.world.advance(20ms);
  EXPECT_EQ(l.c.children(l.path).size(), 5u);
  l.out(0);
  for (std::size_t i = 1; i < 4; ++i) {
    ASSERT_TRUE(l.c.granted(l.calls[i])) << i;
    l.out(i);
  }
  ASSERT_TRUE(l.c.granted(next));
  l.lockers[0]->unlock(next);
  l.c.check_end();
}

TEST(downgrade, a_downgraded_hold_is_watched_suspended_restored_and_lost_like_any) {
  line_of_four l{10s};
  l.downgrade();
  ASSERT_TRUE(l.downgraded());
  l.first().cut();
  l.c.quieten();
  EXPECT_EQ(l.lockers[0]->journal(), (lines{"suspended", "restored"}));
  EXPECT_TRUE(l.calls[0]->held());
  l.c.world.by_hand().remove(l.calls[0]->hold->nodes()[0]);
  ASSERT_TRUE(l.c.lost(l.calls[0]));
  l.out(0);
  l.finish();
}

TEST(downgrade, of_nothing_or_of_a_lost_hold_is_refused) {
  line_of_four l{10s};
  const auto other = l.c.add(3, a_shared_mutex("/locks/two"));
  other->downgrade(std::make_shared<call>());
  l.c.world.advance(10ms);
  EXPECT_EQ(other->downgrades(), std::vector<error_code>{errc::lock_lost});
  l.c.world.advance(200ms);
  l.c.world.by_hand().remove(l.calls[0]->hold->nodes()[0]);
  ASSERT_TRUE(l.c.lost(l.calls[0]));
  l.downgrade();
  ASSERT_TRUE(l.downgraded());
  EXPECT_EQ(l.lockers[0]->downgrades()[0], errc::lock_lost);
  l.out(0);
  l.finish();
}

TEST(downgrade, of_a_hold_whose_node_was_deleted_by_hand_is_refused_and_lost) {
  line_of_four l;
  l.calls[0]->robbed = true;
  l.c.world.by_hand().remove(l.calls[0]->hold->nodes()[0]);
  l.downgrade();  // before it can know
  ASSERT_TRUE(l.downgraded());
  EXPECT_EQ(l.lockers[0]->downgrades()[0], errc::lock_lost);
  ASSERT_TRUE(l.c.lost(l.calls[0]));
  l.out(0);
  l.finish();
}

TEST(downgrade, asked_for_twice_is_told_twice) {
  line_of_four l;
  l.first().cut();  // it looks at its node on the new connection first
  ASSERT_TRUE(l.c.run_until([&] { return l.first().attached(); }));
  l.downgrade();
  l.downgrade();
  l.c.quieten();
  EXPECT_EQ(l.lockers[0]->downgrades().size(), 2u);
  l.out(0);
  for (std::size_t i = 1; i < 4; ++i) {
    ASSERT_TRUE(l.c.granted(l.calls[i])) << i;
    l.out(i);
  }
  l.c.check_end();
}

// --- faults

TEST(downgrade, with_its_request_or_its_reply_lost_happens_once) {
  for (const bool request : {true, false})
    for (const auto how : cut_styles) {
      line_of_four l;
      request ? l.first().swallow_request(opcode::multi, how)
              : l.first().swallow_reply(opcode::multi, how);
      l.downgrade();
      ASSERT_TRUE(l.downgraded());
      EXPECT_FALSE(l.lockers[0]->downgrades()[0]);
      l.c.quieten();
      EXPECT_EQ(l.c.children(l.path).size(), 4u);
      EXPECT_TRUE(l.calls[0]->held());
      EXPECT_EQ(l.calls[2]->told, 0);
      l.out(0);
      l.finish();
      ASSERT_FALSE(testing::Test::HasFailure());
    }
}

TEST(downgrade, with_an_answer_that_leaves_it_open_happens_once) {
  line_of_four l;
  l.first().falsify_reply(opcode::multi, errc::operation_timeout);
  l.downgrade();
  ASSERT_TRUE(l.downgraded());
  EXPECT_FALSE(l.lockers[0]->downgrades()[0]);
  l.c.quieten();
  EXPECT_EQ(l.c.children(l.path).size(), 4u);
  EXPECT_TRUE(l.calls[0]->held());
  l.out(0);
  l.finish();
}

TEST(downgrade, with_its_reply_lost_and_the_readers_data_written_over) {
  line_of_four l;
  l.first().swallow_reply(opcode::multi);
  l.first().refuse_connections(true);
  l.downgrade();
  l.c.world.advance(50ms);
  ASSERT_FALSE(l.c.world.by_hand().set(l.path + "/__READ__0000000000", "__REVOKE__"));
  l.first().refuse_connections(false);
  ASSERT_TRUE(l.downgraded());
  EXPECT_FALSE(l.lockers[0]->downgrades()[0]) << name_of(l.lockers[0]->downgrades()[0]);
  l.c.quieten();
  EXPECT_TRUE(l.calls[0]->held());
  l.out(0);
  l.finish();
}

// A cut behind each frame; then it leaves behind each event, too.
TEST(downgrade, cut_behind_each_frame_keeps_the_order_and_leaves_nothing) {
  int cuts = 0;
  for (const auto way : {direction::up, direction::down})
    for (const auto how : cut_styles)
      for (const auto age : {0ms, 200ms})
        for (std::size_t n = 1;; ++n) {
          SCOPED_TRACE(testing::Message() << "frame " << n << (way == direction::up ? " up" : "")
                                          << ", late " << how.requests_arrive << ", at once "
                                          << how.before_notices << ", age " << age.count());
          line_of_four l;
          l.c.world.advance(age);
          l.first().cut_after_frames(way, n, how);
          l.downgrade();
          ASSERT_TRUE(l.downgraded());
          EXPECT_FALSE(l.lockers[0]->downgrades()[0]);
          l.c.world.advance(100ms);
          EXPECT_TRUE(l.calls[0]->held());
          EXPECT_EQ(l.calls[2]->told, 0);
          l.out(0);
          l.finish();
          ASSERT_FALSE(testing::Test::HasFailure());
          if (l.first().fault_pending()) break;
          ++cuts;
        }
  EXPECT_GT(cuts, 20);
}

TEST(downgrade, leaving_behind_each_event_of_it_leaves_nothing) {
  int in_the_middle = 0;
  for (int fault = 0; fault < 4; ++fault)
    for (const auto how : cut_styles)
      for (int k = 0;; ++k) {
        SCOPED_TRACE(testing::Message()
                     << "event " << k << ", fault " << fault << ", late " << how.requests_arrive
                     << ", at once " << how.before_notices);
        line_of_four l;
        if (fault == 1) l.first().swallow_request(opcode::multi, how);
        if (fault == 2) l.first().swallow_reply(opcode::multi, how);
        if (fault == 3) l.first().cut_after_frames(direction::down, 1, how);
        l.downgrade();
        for (int i = 0; i < k; ++i) l.c.world.step();
        const bool over = !l.lockers[0]->downgrades().empty();
        in_the_middle += !over;
        l.out(0);
        l.finish();
        ASSERT_FALSE(testing::Test::HasFailure());
        if (over) break;
      }
  EXPECT_GT(in_the_middle, 30);
}

TEST(downgrade, session_ended_behind_each_frame_is_lost_and_told) {
  int lost = 0;
  for (const auto way : {direction::up, direction::down})
    for (const auto how : cut_styles)
      for (std::size_t n = 1; n < 6; ++n) {
        SCOPED_TRACE(testing::Message() << "frame " << n << (way == direction::up ? " up" : ""));
        line_of_four l{10s};
        l.first().cut_after_frames(way, n, how);
        l.first().refuse_connections(true);
        l.downgrade();
        ASSERT_TRUE(
            l.c.run_until([&] { return l.calls[0]->lost() || !l.first().fault_pending(); }));
        if (l.first().fault_pending()) break;
        ASSERT_TRUE(l.c.lost(l.calls[0]));
        ++lost;
        // Nobody who was told that it is lost is told later that all went well.
        const bool told_before = !l.lockers[0]->downgrades().empty();
        l.c.world.advance(20s);
        l.first().refuse_connections(false);
        ASSERT_TRUE(l.downgraded());
        EXPECT_TRUE(told_before || l.lockers[0]->downgrades()[0]);
        l.out(0);
        l.finish();
        ASSERT_FALSE(testing::Test::HasFailure());
      }
  EXPECT_GT(lost, 8);
}

// Who waits for it must not wait for a server that never comes back.
TEST(downgrade, whose_hold_is_lost_is_told_without_a_connection) {
  line_of_four l{10s};
  l.first().refuse_connections(true);
  l.first().cut();
  l.downgrade();
  ASSERT_TRUE(l.c.lost(l.calls[0]));
  l.c.world.advance(1ms);
  EXPECT_EQ(l.lockers[0]->downgrades(), std::vector<error_code>{errc::lock_lost});
  l.first().refuse_connections(false);
  l.out(0);
  l.finish();
}

// There the order is that of creation, and the reader's node is younger than the writers' behind.
TEST(downgrade, near_the_end_of_the_numbers_is_refused_and_lets_no_writer_in) {
  lock_contest c{{.clients = 3}};
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
  c.quieten();
  EXPECT_EQ(b->told, 0);
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
}

// The numbers of those who wait do not order them any more, but the reader is before them.
TEST(downgrade, just_before_the_end_of_the_numbers_lets_no_writer_in) {
  for (const auto& names : {layout::curator(), layout::kazoo()}) {
    SCOPED_TRACE(names.name());
    lock_contest c{line_of_four::with(600s)};
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
    c.quieten();
    first->downgrade(w);
    ASSERT_TRUE(c.run_until([&] { return !first->downgrades().empty(); }));
    EXPECT_FALSE(first->downgrades()[0]);
    c.quieten();
    EXPECT_EQ(behind->told + last->told, 0);
    first->unlock(w);
    ASSERT_TRUE(c.granted(behind));
    c.quieten();
    EXPECT_EQ(last->told, 0);
    second->unlock(behind);
    ASSERT_TRUE(c.granted(last));
    third->unlock(last);
    c.quieten();
  }
}

}  // namespace
}  // namespace conclave::simulated
