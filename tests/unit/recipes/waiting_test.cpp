// Waiters: their order, hand-offs and their cost, waiters that give up, and other libraries.
#include <gtest/gtest.h>

#include "one_lock.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

class waiting : public testing::TestWithParam<bool>, protected one_lock {
 protected:
  waiting() : one_lock{{.clients = 5}, GetParam()} {}
  void SetUp() override {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create("/locks/one");
  }
  attempt_pointer waiter(std::size_t client) {
    auto a = c.begin(client);
    c.world.advance(20ms);
    EXPECT_FALSE(a->was_granted());
    return a;
  }
  void expect_granted_in_order(const std::vector<attempt_pointer>& in_order) {
    for (const auto& a : in_order) {
      ASSERT_TRUE(c.granted(a)) << a->path();
      a->leave();
    }
    check_end();
  }
};
INSTANTIATE_TEST_SUITE_P(tickets, waiting, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(waiting, five_clients_are_granted_in_the_order_of_their_creation) {
  std::vector<attempt_pointer> all;
  for (std::size_t i = 0; i < 5; ++i) all.push_back(i == 0 ? holder() : waiter(i));
  expect_granted_in_order(all);
}

TEST_P(waiting, contenders_of_one_client_are_granted_in_order) {
  std::vector<attempt_pointer> all;
  for (std::size_t i = 0; i < 6; ++i) all.push_back(c.begin(i % 2));
  c.world.advance(20ms);
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a->path() < b->path(); });
  expect_granted_in_order(all);
}

TEST_P(waiting, a_waiter_that_gives_up_grants_nothing) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2), e = waiter(3);
  d->leave();
  ASSERT_TRUE(c.gone(d));
  EXPECT_EQ(d->journal(), (lines{"failed cancelled", "gone"}));
  c.finish_pending_work();
  EXPECT_FALSE(b->was_granted() || e->was_granted());
  expect_granted_in_order({a, b, e});
}

TEST_P(waiting, the_first_waiter_gives_up) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2), e = waiter(3);
  b->leave();
  c.finish_pending_work();
  EXPECT_FALSE(d->was_granted() || e->was_granted());
  expect_granted_in_order({a, d, e});
}

TEST_P(waiting, all_other_waiters_give_up_before_the_release) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2), e = waiter(3);
  d->leave();
  c.finish_pending_work();
  b->leave();
  c.finish_pending_work();
  EXPECT_FALSE(e->was_granted());
  expect_granted_in_order({a, e});
}

TEST_P(waiting, a_waiter_whose_client_is_closed_grants_nothing) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2), e = waiter(3);
  c.world.client(2).close();
  c.finish_pending_work();
  EXPECT_TRUE(d->failure() == errc::closed || d->failure() == errc::session_expired)
      << name_of(d->failure());
  EXPECT_EQ(d->journal().back(), "gone");
  EXPECT_FALSE(b->was_granted() || e->was_granted());
  expect_granted_in_order({a, b, e});
}

TEST_P(waiting, a_holder_whose_client_is_closed_hands_off_the_lock) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2);
  c.world.client(0).close();
  expect_granted_in_order({b, d});
  EXPECT_EQ(a->journal(), (lines{"granted", "lost closed", "gone"}));
}

TEST_P(waiting, the_holder_and_the_first_waiter_leave_together) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2), e = waiter(3);
  a->leave();
  b->leave();
  expect_granted_in_order({d, e});
}

TEST_P(waiting, a_waiter_waits_for_a_curator_holder) {
  direct_client curator{c.world.server()};
  const auto theirs = curator.create_sequential(
      "/locks/one/_c_12345678-1234-1234-1234-123456789012-lock-", "10.0.0.1");
  const auto b = waiter(1), d = waiter(2);
  c.world.by_hand().remove(theirs);
  expect_granted_in_order({b, d});
}

TEST_P(waiting, a_waiter_waits_for_a_curator_predecessor) {
  direct_client curator{c.world.server()};
  const auto a = holder();
  const auto theirs = curator.create_sequential(
      "/locks/one/_c_12345678-1234-1234-1234-123456789012-lock-", "10.0.0.1");
  const auto b = waiter(1);
  a->leave();
  c.finish_pending_work();
  EXPECT_FALSE(b->was_granted());
  curator.end();
  expect_granted_in_order({b});
}

TEST_P(waiting, overwriting_the_predecessor_grants_nothing) {
  const auto a = holder();
  const auto b = waiter(1);
  for (int i = 0; i < 3; ++i) {
    c.world.by_hand().set(a->path(), "__REVOKE__" + std::to_string(i));
    c.finish_pending_work();
    EXPECT_FALSE(b->was_granted());
  }
  expect_granted_in_order({a, b});
}

TEST_P(waiting, leaving_removes_the_watch_on_the_server) {
  const auto a = holder();
  const auto b = waiter(1);
  b->leave();
  c.finish_pending_work();
  EXPECT_EQ(c.world.client(1).machine().watch_count(), 0u);
  EXPECT_EQ(c.world.server().core().data_watches().watched_paths(),
            1u);  // the holder's watch on its own node
}

TEST_P(waiting, leaving_keeps_the_watch_of_the_clients_other_contender) {
  const auto a = holder();
  direct_client curator{c.world.server()};
  // Both wait for the same node after the contender in between has left.
  const auto between = waiter(2);
  const auto b = waiter(1);
  between->leave();
  c.finish_pending_work();
  const auto d = waiter(1);
  b->leave();
  c.finish_pending_work();
  expect_granted_in_order({a, d});
}

TEST_P(waiting, a_contender_that_does_not_wait_learns_the_holder_and_leaves_no_node) {
  const auto a = holder();
  auto t = c.request;
  t.if_contended = recipes::lock_request::on_contention::give_up;
  const auto b = c.begin(1, t);
  ASSERT_TRUE(c.gone(b));
  EXPECT_EQ(b->journal(), (lines{"failed lock_busy", "gone"}));
  EXPECT_EQ(b->contender().holder_path(), a->path());
  EXPECT_EQ(c.children(), lines{a->name()});
  a->leave();
  const auto d = c.begin(1, t);
  ASSERT_TRUE(c.granted(d));
  expect_granted_in_order({d});
}

TEST_P(waiting, a_waiter_learns_its_position) {
  const auto a = holder();
  const auto b = waiter(1);
  auto t = c.request;
  t.reports_position = true;
  const auto d = c.begin(2, t);
  c.world.advance(20ms);
  EXPECT_EQ(d->journal(), lines{"enqueued 2"});
  expect_granted_in_order({a, b, d});
  EXPECT_EQ(d->journal(), (lines{"enqueued 2", "granted", "gone"}));
}

TEST_P(waiting, a_contender_that_does_not_wait_learns_no_position) {
  const auto a = holder();
  auto t = c.request;
  t.reports_position = true;
  t.if_contended = recipes::lock_request::on_contention::give_up;
  const auto b = c.begin(1, t);
  c.world.advance(20ms);
  EXPECT_EQ(b->journal(), (lines{"failed lock_busy", "gone"}));
  expect_granted_in_order({a});
}

TEST_P(waiting, foreign_nodes_are_ignored) {
  auto& hand = c.world.by_hand();
  hand.create("/locks/one/readme");
  hand.create("/locks/one/lock-");
  hand.create("/locks/one/lock-12");
  hand.create("/locks/one/leases");
  const auto a = holder();
  const auto b = waiter(1);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  b->leave();
  c.finish_pending_work();
  EXPECT_EQ(c.children().size(), 4u);
}

TEST_P(waiting, a_contender_of_another_layout_is_an_error) {
  direct_client kazoo{c.world.server()};
  kazoo.create_sequential("/locks/one/0123456789abcdef0123456789abcdef__lock__");
  const auto a = c.begin(0);
  ASSERT_TRUE(c.gone(a));
  EXPECT_EQ(a->journal(), (lines{"failed layout_mismatch", "gone"}));
  EXPECT_EQ(c.children().size(), 1u);
}

TEST_P(waiting, hand_offs_work_without_permission_to_write_the_parent) {
  auto& hand = c.world.by_hand();
  for (const auto may : {permission::create | permission::remove | permission::read,
                         permission::create | permission::remove}) {
    c.request.parents = {"/locks/only" + std::to_string(may)};
    hand.create(c.request.parents[0], {},
                create_options{create_mode::persistent, {{may, "world", "anyone"}}});
    if (!(may & permission::read)) continue;  // contenders could not list the wait queue
    const auto a = holder();
    const auto b = waiter(1), d = waiter(2);
    expect_granted_in_order({a, b, d});
    EXPECT_EQ(hand.get(c.request.parents[0]).stat.version, 0);
  }
}

TEST_P(waiting, foreign_data_of_the_parent_is_kept) {
  auto& hand = c.world.by_hand();
  hand.set("/locks/one", "theirs");
  const auto a = holder();
  const auto b = waiter(1);
  expect_granted_in_order({a, b});
  EXPECT_EQ(hand.get("/locks/one").data, "theirs");
}

TEST_P(waiting, a_record_of_another_parent_is_ignored) {
  auto& hand = c.world.by_hand();
  const auto a = holder();
  const auto czxid = hand.get("/locks/one").stat.czxid;
  hand.set("/locks/one", "conclave 1 " + std::to_string(czxid + 1) + " 0\n");
  const auto b = waiter(1), d = waiter(2);
  hand.set("/locks/one", "conclave 1 " + std::to_string(czxid - 1) + " 5\n");
  b->leave();
  c.finish_pending_work();
  EXPECT_FALSE(d->was_granted());
  expect_granted_in_order({a, d});
}

// The cost of a release does not depend on the number of waiters.
class hand_off_cost : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(of, hand_off_cost, testing::Values(2, 50, 500));

TEST_P(hand_off_cost, a_release_wakes_two_waiters_at_a_constant_cost) {
  contender_world c{{.clients = 10}};
  c.world.by_hand().create("/locks");
  c.world.by_hand().create("/locks/one");
  std::vector<attempt_pointer> all;
  for (std::size_t i = 0; i <= GetParam(); ++i) {
    all.push_back(c.begin(i % 10));
    c.world.advance(5ms);
  }
  c.finish_pending_work();
  for (std::size_t i = 0; i < 3 && i + 1 < all.size(); ++i) {
    std::vector<traffic> before;
    for (std::size_t k = 0; k < 10; ++k) before.push_back(c.world.client(k).traffic());
    ASSERT_TRUE(all[i]->holding());
    const auto began = c.world.now();
    all[i]->leave();
    ASSERT_TRUE(c.granted(all[i + 1]));
    // The release and the event. The first hand-off needs one more round trip to read the record.
    EXPECT_LE(all[i + 1]->granted_at - began, i == 0 ? 4ms : 2ms);
    c.world.advance(20ms);
    int requests = 0, events = 0, lists = 0;
    std::size_t bytes = 0;
    for (std::size_t k = 0; k < 10; ++k) {
      const auto t = c.world.client(k).traffic() - before[k];
      requests += t.all();
      events += t.events;
      lists += t.of(opcode::get_children2) + t.of(opcode::get_children);
      bytes += t.bytes_down;
    }
    EXPECT_LE(requests, i == 0 ? 3 : 2);  // the release and a read of the record
    EXPECT_LE(events, 3);  // to the two waiters, and to a holder that watches its own node
    EXPECT_EQ(lists, 0);
    EXPECT_LT(bytes, 600u);
    EXPECT_EQ(c.checker().grants(), static_cast<int>(i) + 2);
  }
}

}  // namespace
}  // namespace conclave::simulated
