// Nodes that are deleted or overwritten by hand, and sequence numbers that reach their end.
#include <gtest/gtest.h>

#include "one_lock.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

class manual_changes : public testing::TestWithParam<bool>, protected one_lock {
 protected:
  manual_changes() : one_lock{{.clients = 4}, GetParam()} {}
  direct_client& operators() { return c.world.by_hand(); }
  void delete_all() {
    for (const auto& name : c.children()) operators().remove("/locks/one/" + name);
    operators().remove("/locks/one");
  }
  void SetUp() override {
    operators().create("/locks");
    operators().create("/locks/one");
  }
};
INSTANTIATE_TEST_SUITE_P(tickets, manual_changes, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(manual_changes, a_hold_whose_node_is_deleted_is_lost) {
  const auto a = holder();
  c.world.advance(150ms);
  operators().remove(a->path());
  c.world.advance(5ms);
  EXPECT_EQ(a->count("lost node_deleted"), 1);
  ASSERT_TRUE(c.gone(a));
  check_end();
}

TEST_P(manual_changes, a_node_deleted_right_after_the_grant_is_noticed_later) {
  const auto a = holder();
  operators().remove(a->path());
  c.world.advance(150ms);
  EXPECT_EQ(a->count("lost node_deleted"), 1);
  check_end();
}

TEST_P(manual_changes, a_node_deleted_after_a_hand_off_is_noticed_at_once) {
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

TEST_P(manual_changes, a_waiter_whose_node_is_deleted_fails) {
  const auto a = holder();
  const auto b = c.begin(1);
  const auto d = c.begin(2);
  c.world.advance(50ms);
  operators().remove(b->path());
  ASSERT_TRUE(c.gone(b));
  EXPECT_EQ(b->journal(), (lines{"failed waiter_node_deleted", "gone"}));
  c.finish_pending_work();
  EXPECT_FALSE(d->was_granted());
  a->leave();
  ASSERT_TRUE(c.granted(d));
  d->leave();
  check_end();
}

TEST_P(manual_changes, a_waiter_whose_node_is_deleted_while_disconnected_fails) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(50ms);
  c.world.client(1).refuse_connections(true);
  c.world.client(1).disconnect();
  c.world.advance(10ms);
  operators().remove(b->path());
  a->leave();
  c.world.advance(10ms);
  c.world.client(1).refuse_connections(false);
  ASSERT_TRUE(c.gone(b));
  EXPECT_EQ(b->journal(), (lines{"failed waiter_node_deleted", "gone"}));
  check_end();
}

TEST_P(manual_changes, a_wait_queue_deleted_with_its_parent_can_be_used_again) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(150ms);
  c.checker().record_only = true;  // the holder cannot be notified before the next grant
  delete_all();
  ASSERT_TRUE(c.gone(a));
  ASSERT_TRUE(c.gone(b));
  c.checker().record_only = false;
  const auto d = holder(2);
  EXPECT_EQ(d->name(), "lock-0000000000");
  d->leave();
  check_end();
}

TEST_P(manual_changes, a_release_does_not_delete_a_new_node_of_the_same_name) {
  c.checker().record_only = true;  // a disconnected holder cannot notice the deletion
  const auto a = holder();
  c.world.advance(150ms);
  auto& link = c.world.client(0);
  link.refuse_connections(true);
  link.disconnect();
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

// The caller gives up while the contender lists a wait queue that was deleted and created again.
TEST_P(manual_changes, a_waiter_that_gives_up_does_not_delete_a_new_node_of_the_same_name) {
  c.checker().record_only = true;
  const auto a = holder();
  const auto b = c.begin(1);
  ASSERT_TRUE(c.run_until([&] { return !b->name().empty(); }));
  const auto path = b->path();
  c.world.client(1).stall(true, true);
  delete_all();
  c.world.advance(20ms);  // the server has answered all requests of b
  operators().create("/locks/one");
  while (operators().create_sequential("/locks/one/lock-") != path) {
  }
  b->leave();
  c.world.client(1).stall(false);
  ASSERT_TRUE(c.gone(b));
  EXPECT_TRUE(operators().exists(path));
}

// The contender lists its wait queue on a new connection and finds the name of its node there.
TEST_P(manual_changes, a_waiter_does_not_use_a_new_node_of_the_same_name) {
  c.checker().record_only = true;
  const auto a = holder();
  const auto b = c.begin(1);
  ASSERT_TRUE(c.run_until([&] { return !b->name().empty(); }));
  auto& link = c.world.client(1);
  link.refuse_connections(true);
  link.disconnect();
  delete_all();
  ASSERT_TRUE(c.gone(a));
  c.checker().record_only = false;
  const auto first = holder(2);
  const auto second = c.begin(3);
  c.world.advance(20ms);
  first->leave();
  ASSERT_TRUE(c.granted(second));
  ASSERT_EQ(second->path(), b->path());
  link.refuse_connections(false);
  ASSERT_TRUE(c.gone(b));
  EXPECT_EQ(b->journal(), (lines{"failed waiter_node_deleted", "gone"}));
  EXPECT_TRUE(second->holding());
  EXPECT_TRUE(operators().exists(second->path()));
  second->leave();
  check_end();
}

// The socket accepts only some of the creations, and the server removes the empty container.
TEST_P(manual_changes, a_parent_that_is_removed_too_early_is_created_again) {
  auto& link = c.world.client(0);
  int removed = 0;
  for (std::size_t frames = 1; frames < 6; ++frames) {
    operators().remove("/locks/one");
    operators().remove("/locks");
    const auto a = c.begin(0);
    link.limit_writes(frames);
    c.world.advance(20ms);
    if (operators().exists("/locks") && !operators().exists("/locks/one")) {
      operators().remove("/locks");
      ++removed;
    }
    link.end_write_limit();
    ASSERT_TRUE(c.granted(a)) << name_of(a->failure());
    a->leave();
    check_end();
  }
  EXPECT_EQ(removed, 1);
}

// The release is repeated while the session lives.
TEST_P(manual_changes, a_release_without_permission_is_retried_with_a_backoff) {
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

TEST_P(manual_changes, a_revocation_is_reported_once) {
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
  c.world.client(0).disconnect();
  c.finish_pending_work();
  c.world.advance(1min);
  EXPECT_EQ(a->count("revocation"), 1);
  EXPECT_TRUE(a->holding());
  a->leave();
  check_end();
}

TEST_P(manual_changes, a_revocation_while_disconnected_is_reported_after_the_reconnect) {
  const auto a = holder();
  a->report_revocations();
  c.world.advance(50ms);
  c.world.client(0).refuse_connections(true);
  c.world.client(0).disconnect();
  operators().set(a->path(), "__REVOKE__");
  c.world.advance(50ms);
  c.world.client(0).refuse_connections(false);
  c.finish_pending_work();
  EXPECT_EQ(a->count("revocation"), 1);
}

TEST_P(manual_changes, a_revocation_of_a_waiter_is_reported_after_the_grant) {
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

// --- the last sequence number

TEST_P(manual_changes, the_order_is_kept_after_the_last_sequence_number) {
  for (const auto start : {2147483645, 2147483646, 2147483647, -2147483647 - 1, -1000000001}) {
    SCOPED_TRACE(start);
    c.request.parents = {"/locks/from" + std::to_string(start)};
    operators().create(c.request.parents[0]);
    // Without an earlier child, the server does not store the counter.
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
    c.finish_pending_work();
    // The numbering restarts when the wait queue is empty.
    EXPECT_FALSE(operators().exists(c.request.parents[0]));
    const auto a = holder();
    EXPECT_EQ(a->name(), "lock-0000000000");
    a->leave();
    c.finish_pending_work();
  }
}

// The embedded server continues with negative numbers and then returns to zero.
TEST_P(manual_changes, wrapped_sequence_numbers_do_not_count_as_served) {
  const auto path = c.request.parents[0];
  operators().create(path + "/x");  // so that the path is not removed
  for (const auto first : {0, 3, 90}) {
    SCOPED_TRACE(first);
    c.world.set_counter(path, 100);
    const auto served = holder();
    served->leave();
    c.finish_pending_work();
    c.world.set_counter(path, first);
    std::vector<attempt_pointer> all;
    for (std::size_t i = 0; i < 4; ++i) {
      all.push_back(c.begin(i));
      c.world.advance(50ms);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(c.granted(all[i])) << i;
      c.finish_pending_work();
      for (std::size_t j = i + 1; j < 4; ++j) EXPECT_FALSE(all[j]->was_granted()) << i << " " << j;
      all[i]->leave();
    }
    c.finish_pending_work();
  }
}

// Served numbers are forgotten when the numbers become negative.
TEST_P(manual_changes, a_number_served_before_the_wrap_grants_nothing_after_it) {
  const auto path = c.request.parents[0];
  operators().create(path + "/x");
  c.world.set_counter(path, 1);
  const auto served = holder();
  served->leave();
  c.finish_pending_work();
  c.world.set_counter(path, -1);
  const auto below_zero = holder();
  EXPECT_EQ(below_zero->name(), "lock--000000001");
  below_zero->leave();
  c.finish_pending_work();
  std::vector<attempt_pointer> all;
  for (std::size_t i = 0; i < 4; ++i) {
    all.push_back(c.begin(i));
    c.world.advance(50ms);
  }
  EXPECT_EQ(all[2]->name(), "lock-0000000002");
  for (const auto& a : all) {
    ASSERT_TRUE(c.granted(a));
    c.finish_pending_work();
    a->leave();
  }
  c.finish_pending_work();
}

// A contender from before the wrap precedes contenders with low numbers.
TEST_P(manual_changes, an_old_high_number_precedes_a_new_low_number) {
  const auto path = c.request.parents[0];
  operators().create(path + "/x");
  c.world.set_counter(path, 2147400000);
  const auto old = holder();
  EXPECT_EQ(old->name(), "lock-2147400000");
  for (const auto first : {0, 7}) {
    c.world.set_counter(path, first);
    const auto young = c.begin(1);
    c.finish_pending_work();
    EXPECT_FALSE(young->was_granted()) << first;
    young->leave();
    c.finish_pending_work();
  }
  old->leave();
  c.finish_pending_work();
}

TEST_P(manual_changes, a_contender_waits_until_the_last_name_is_free) {
  // Apache's server does not wrap: the next creation fails because the name exists.
  operators().create("/locks/one/lock-2147483647");
  c.world.set_counter("/locks/one", 2147483647);
  const auto a = c.begin(0);
  c.finish_pending_work();
  EXPECT_FALSE(a->was_granted());
  EXPECT_FALSE(a->done()) << a->journal().front();
  operators().remove("/locks/one/lock-2147483647");
  ASSERT_TRUE(c.granted(a));
  a->leave();
  check_end();
}

}  // namespace
}  // namespace conclave::simulated
