// Nodes that somebody deletes or writes by hand, and the end of the numbers.
#include <gtest/gtest.h>

#include "one_lock.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

class by_hand : public testing::TestWithParam<bool>, protected one_lock {
 protected:
  by_hand() : one_lock{{.clients = 4}, GetParam()} {}
  hand& operators() { return c.world.by_hand(); }
  void SetUp() override {
    operators().create("/locks");
    operators().create("/locks/one");
  }
};
INSTANTIATE_TEST_SUITE_P(tickets, by_hand, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(by_hand, a_deleted_hold_is_told_that_it_is_lost) {
  const auto a = holder();
  c.world.advance(150ms);
  operators().remove(a->path());
  c.world.advance(5ms);
  EXPECT_EQ(a->count("lost node_deleted"), 1);
  ASSERT_TRUE(c.gone(a));
  check_end();
}

TEST_P(by_hand, a_hold_deleted_in_its_first_moment_is_told_a_little_later) {
  const auto a = holder();
  operators().remove(a->path());
  c.world.advance(150ms);
  EXPECT_EQ(a->count("lost node_deleted"), 1);
  check_end();
}

TEST_P(by_hand, a_hold_that_had_waited_is_told_at_once) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(50ms);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  operators().remove(b->path());
  c.world.advance(5ms);
  EXPECT_EQ(b->count("lost node_deleted"), 1);
  check_end();
}

TEST_P(by_hand, a_deleted_waiter_fails) {
  const auto a = holder();
  const auto b = c.begin(1);
  const auto d = c.begin(2);
  c.world.advance(50ms);
  operators().remove(b->path());
  ASSERT_TRUE(c.gone(b));
  EXPECT_EQ(b->journal(), (lines{"failed waiter_node_deleted", "gone"}));
  c.quieten();
  EXPECT_FALSE(d->was_granted());
  a->leave();
  ASSERT_TRUE(c.granted(d));
  d->leave();
  check_end();
}

TEST_P(by_hand, a_waiter_deleted_without_a_connection_fails) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(50ms);
  c.world.client(1).refuse_connections(true);
  c.world.client(1).cut();
  c.world.advance(10ms);
  operators().remove(b->path());
  a->leave();
  c.world.advance(10ms);
  c.world.client(1).refuse_connections(false);
  ASSERT_TRUE(c.gone(b));
  EXPECT_EQ(b->journal(), (lines{"failed waiter_node_deleted", "gone"}));
  check_end();
}

TEST_P(by_hand, a_whole_line_deleted_with_its_parent_begins_anew_for_those_who_come) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(150ms);
  c.referee().quiet = true;  // nobody can tell the holder before the next one
  for (const auto& name : c.children()) operators().remove("/locks/one/" + name);
  operators().remove("/locks/one");
  ASSERT_TRUE(c.gone(a));
  ASSERT_TRUE(c.gone(b));
  c.referee().quiet = false;
  const auto d = holder(2);
  EXPECT_EQ(d->name(), "lock-0000000000");
  d->leave();
  check_end();
}

// A release that the server refuses is tried for as long as the session lives, ever less often.
TEST_P(by_hand, a_name_that_has_come_back_meanwhile_is_left_alone) {
  c.referee().quiet = true;  // who is robbed while it has no connection cannot know
  const auto a = holder();
  c.world.advance(150ms);
  auto& link = c.world.client(0);
  link.refuse_connections(true);
  link.cut();
  c.world.advance(10ms);
  operators().remove(a->path());
  operators().remove("/locks/one");
  const auto b = holder(1);
  ASSERT_EQ(b->path(), a->path());
  a->leave();
  link.refuse_connections(false);
  ASSERT_TRUE(c.gone(a));
  c.world.advance(1s);
  EXPECT_TRUE(b->holding());
  EXPECT_TRUE(operators().exists(b->path()));
  b->leave();
  ASSERT_TRUE(c.gone(b));
  check_end();
}

TEST_P(by_hand, a_release_that_is_not_permitted_is_tried_now_and_then) {
  const auto a = holder();
  auto& releasing = c.world.client(0);
  const auto permit = [&](std::int32_t permissions) {
    node_stat stat;
    return operators().ask(
        requests::set_acl(releasing.defaults(), c.request.parents[0], {{permissions}}, any_version),
        stat);
  };
  ASSERT_FALSE(permit(permission::all & ~permission::remove));
  a->leave();
  c.world.advance(10s);
  const auto before = releasing.traffic();
  c.world.advance(60s);
  EXPECT_EQ(c.children().size(), 1u);
  EXPECT_LE((releasing.traffic() - before).all(), 60 * 4);
  ASSERT_FALSE(permit(permission::all));
  ASSERT_TRUE(c.gone(a));
  check_end();
}

TEST_P(by_hand, a_revocation_is_told_once) {
  const auto a = holder();
  a->report_revocations();
  c.world.advance(50ms);
  EXPECT_EQ(a->count("revocation"), 0);
  operators().set(a->path(), "something else");
  c.world.advance(50ms);
  EXPECT_EQ(a->count("revocation"), 0);
  operators().set(a->path(), "__REVOKE__");
  c.world.advance(50ms);
  EXPECT_EQ(a->count("revocation"), 1);
  c.world.client(0).cut();
  c.quieten();
  c.world.advance(1min);
  EXPECT_EQ(a->count("revocation"), 1);
  EXPECT_TRUE(a->holding());
  a->leave();
  check_end();
}

TEST_P(by_hand, a_revocation_during_a_cut_is_told_behind_it) {
  const auto a = holder();
  a->report_revocations();
  c.world.advance(50ms);
  c.world.client(0).refuse_connections(true);
  c.world.client(0).cut();
  operators().set(a->path(), "__REVOKE__");
  c.world.advance(50ms);
  c.world.client(0).refuse_connections(false);
  c.quieten();
  EXPECT_EQ(a->count("revocation"), 1);
}

TEST_P(by_hand, a_revocation_that_came_while_it_waited_is_told_when_it_holds) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(50ms);
  operators().set(b->path(), "__REVOKE__");
  c.world.advance(50ms);
  EXPECT_EQ(b->count("revocation"), 0);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  b->report_revocations();
  c.world.advance(50ms);
  EXPECT_EQ(b->count("revocation"), 1);
}

// --- the end of the numbers

TEST_P(by_hand, behind_the_last_number_the_order_stays_and_nobody_is_stuck) {
  for (const auto start : {2147483645, 2147483646, 2147483647, -2147483647 - 1, -1000000001}) {
    SCOPED_TRACE(start);
    c.request.parents = {"/locks/from" + std::to_string(start)};
    operators().create(c.request.parents[0]);
    // It has had children, otherwise the counter is not stored.
    operators().create(c.request.parents[0] + "/x");
    operators().remove(c.request.parents[0] + "/x");
    c.world.set_counter(c.request.parents[0], start);
    std::vector<attempt_pointer> all;
    for (std::size_t i = 0; i < 7; ++i) {
      all.push_back(c.begin(i % 4));
      c.world.advance(50ms);
    }
    EXPECT_EQ(c.children().size(), 7u);
    all[3]->leave();
    for (std::size_t i = 0; i < 7; ++i) {
      if (i == 3) continue;
      ASSERT_TRUE(c.granted(all[i])) << i << " " << testing::PrintToString(all[i]->journal());
      c.world.advance(20ms);
      all[i]->leave();
    }
    c.quieten();
    // Counting begins anew when the line is empty.
    EXPECT_FALSE(operators().exists(c.request.parents[0]));
    const auto a = holder();
    EXPECT_EQ(a->name(), "lock-0000000000");
    a->leave();
    c.quieten();
  }
}

// The embedded server goes on below zero, and from there to zero again.
TEST_P(by_hand, numbers_that_come_round_are_not_those_that_were_served_before) {
  const auto path = c.request.parents[0];
  operators().create(path + "/x");  // keeps the path
  for (const auto first : {0, 3, 90}) {
    SCOPED_TRACE(first);
    c.world.set_counter(path, 100);
    const auto served = holder();
    served->leave();
    c.quieten();
    c.world.set_counter(path, first);
    std::vector<attempt_pointer> all;
    for (std::size_t i = 0; i < 4; ++i) {
      all.push_back(c.begin(i));
      c.world.advance(50ms);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(c.granted(all[i])) << i;
      c.quieten();
      for (std::size_t j = i + 1; j < 4; ++j) EXPECT_FALSE(all[j]->was_granted()) << i << " " << j;
      all[i]->leave();
    }
    c.quieten();
  }
}

// What was served long ago is forgotten on the way below zero.
TEST_P(by_hand, a_number_served_before_the_numbers_came_round_grants_nothing_after) {
  const auto path = c.request.parents[0];
  operators().create(path + "/x");
  c.world.set_counter(path, 1);
  const auto served = holder();
  served->leave();
  c.quieten();
  c.world.set_counter(path, -1);
  const auto below_zero = holder();
  EXPECT_EQ(below_zero->name(), "lock--000000001");
  below_zero->leave();
  c.quieten();
  std::vector<attempt_pointer> all;
  for (std::size_t i = 0; i < 4; ++i) {
    all.push_back(c.begin(i));
    c.world.advance(50ms);
  }
  EXPECT_EQ(all[2]->name(), "lock-0000000002");
  for (const auto& a : all) {
    ASSERT_TRUE(c.granted(a));
    c.quieten();
    a->leave();
  }
  c.quieten();
}

// One that has waited since before the numbers came round stands before those with low numbers.
TEST_P(by_hand, an_old_high_number_comes_before_a_new_low_one) {
  const auto path = c.request.parents[0];
  operators().create(path + "/x");
  c.world.set_counter(path, 2147400000);
  const auto old = holder();
  EXPECT_EQ(old->name(), "lock-2147400000");
  for (const auto first : {0, 7}) {
    c.world.set_counter(path, first);
    const auto young = c.begin(1);
    c.quieten();
    EXPECT_FALSE(young->was_granted()) << first;
    young->leave();
    c.quieten();
  }
  old->leave();
  c.quieten();
}

TEST_P(by_hand, a_server_that_uses_the_last_number_again_is_waited_for) {
  // Apache's server sticks there: the next creation collides with the one that holds the name.
  operators().create("/locks/one/lock-2147483647");
  c.world.set_counter("/locks/one", 2147483647);
  const auto a = c.begin(0);
  c.quieten();
  EXPECT_FALSE(a->was_granted());
  EXPECT_FALSE(a->done()) << a->journal().front();
  operators().remove("/locks/one/lock-2147483647");
  ASSERT_TRUE(c.granted(a));
  a->leave();
  check_end();
}

}  // namespace
}  // namespace conclave::simulated
