// Deadlocks that are known: each must be found, with the right certainty.
#include <gtest/gtest.h>

#include "inspected_locks.hpp"

namespace conclave::testing {
namespace {

using role = layout::role;

// The only deadlock.
deadlock only(const inspected_locks& locks) {
  const auto all = locks.deadlocks();
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? deadlock{} : all.front();
}

TEST(wait_graph, free_and_contended_locks_are_no_deadlock) {
  inspected_locks locks;
  EXPECT_TRUE(locks.deadlocks().empty());
  locks.add("/x", {"A", 1, 1});
  locks.add("/x", {"B", 2, 2, {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"C", 3, 4});
  EXPECT_TRUE(locks.deadlocks().empty());
}

TEST(wait_graph, two_tasks_that_wait_for_each_other) {
  inspected_locks locks;
  locks.add("/x", {"A", 1, 1});
  locks.add("/x", {"B", 2, 2, {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"A", 1, 4, {1}});
  const auto d = only(locks);
  EXPECT_TRUE(d.certain);
  ASSERT_EQ(d.members.size(), 2u);
  EXPECT_TRUE(d.members[0].certain && d.members[1].certain);
  EXPECT_EQ(explain(d), "B holds /y and waits for /x; A holds /x and waits for /y");
}

TEST(wait_graph, tasks_of_one_session_are_told_apart_by_their_ids) {
  inspected_locks locks;
  locks.add("/x", {"A", 1, 1});
  locks.add("/x", {"A", 1, 2, {3}});
  locks.add("/y", {"A", 1, 3});
  locks.add("/y", {"A", 1, 4});  // another thread, which holds nothing
  EXPECT_TRUE(locks.deadlocks().empty());
  locks.add("/y", {"A", 1, 5, {1}});
  EXPECT_TRUE(only(locks).certain);
}

TEST(wait_graph, the_task_of_another_session_counts_by_its_id) {
  inspected_locks locks;  // as `conclave lock a -- conclave lock b`
  locks.add("/x", {"A", 1, 1});
  locks.add("/x", {"inner of B", 4, 2, {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"inner of A", 3, 4, {1}});
  EXPECT_TRUE(only(locks).certain);
}

TEST(wait_graph, other_libraries_make_only_possible_deadlocks) {
  inspected_locks locks;
  locks.add("/x", {"A", 1});
  locks.add("/x", {"B", 2, 2, {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"A", 1});
  const auto d = only(locks);
  EXPECT_FALSE(d.certain);
  ASSERT_EQ(d.members.size(), 2u);
  EXPECT_EQ(d.members[0].certain + d.members[1].certain, 1);
  EXPECT_EQ(explain(d), "B holds /y and waits for /x; A holds /x and waits for /y");
}

TEST(wait_graph, threads_of_one_foreign_session_that_wait_for_each_other_are_normal) {
  inspected_locks locks;
  locks.add("/x", {"A", 1});
  locks.add("/x", {"A", 1});
  locks.add("/y", {"A", 1});
  locks.add("/y", {"A", 1});
  EXPECT_TRUE(locks.deadlocks().empty());
}

TEST(wait_graph, asynchronous_calls_are_possible_links) {
  inspected_locks locks;
  locks.add("/x", {"A", 1, 1});
  locks.add("/x", {.owner = "B", .session = 2, .id = 2, .open = true});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"A", 1, 4, {1}});
  EXPECT_FALSE(only(locks).certain);
}

TEST(wait_graph, a_lock_that_the_task_may_hold_is_a_possible_link) {
  inspected_locks locks;
  locks.add("/x", {"A", 1, 1});
  locks.add("/x", {.owner = "B", .session = 9, .id = 2, .may_hold = {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"A", 1, 4, {1}});
  EXPECT_FALSE(only(locks).certain);
}

TEST(wait_graph, a_wait_with_a_time_limit_ends) {
  inspected_locks locks;
  locks.add("/x", {"A", 1, 1});
  locks.add("/x", {.owner = "B", .session = 2, .id = 2, .holds = {3}, .limited = true});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"A", 1, 4, {1}});
  const auto d = only(locks);
  EXPECT_FALSE(d.certain);
  EXPECT_EQ(explain(d),
            "B holds /y and waits for /x for a limited time; A holds /x and waits for /y");
}

TEST(wait_graph, a_waiter_with_a_time_limit_does_not_block_those_behind_it_forever) {
  inspected_locks locks;
  locks.add("/x", {.owner = "R", .session = 5, .id = 9, .role = role::reader});
  locks.add("/x", {.owner = "W", .session = 6, .id = 8, .limited = true, .role = role::writer});
  locks.add("/x", {.owner = "A", .session = 1, .id = 1, .holds = {2}, .role = role::reader});
  locks.add("/y", {"A", 1, 2});
  locks.add("/y", {"R", 5, 3, {9}});
  for (const auto& d : locks.deadlocks()) EXPECT_FALSE(d.certain);
}

TEST(wait_graph, waiters_behind_a_deadlock_are_not_part_of_it) {
  inspected_locks locks;
  locks.add("/x", {"A", 1, 1});
  locks.add("/x", {"C", 3, 7, {8}});
  locks.add("/x", {"B", 2, 2, {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"A", 1, 4, {1}});
  locks.add("/y", {"D", 4});
  locks.add("/z", {"C", 3, 8});
  locks.add("/z", {"D", 4});
  const auto d = only(locks);
  EXPECT_TRUE(d.certain);
  EXPECT_EQ(d.members.size(), 2u);
}

TEST(wait_graph, three_tasks_and_two_separate_deadlocks) {
  inspected_locks locks;
  locks.add("/a", {"A", 1, 1});
  locks.add("/a", {"C", 3, 6, {5}});
  locks.add("/b", {"B", 2, 3});
  locks.add("/b", {"A", 1, 2, {1}});
  locks.add("/c", {"C", 3, 5});
  locks.add("/c", {"B", 2, 4, {3}});
  const auto d = only(locks);
  EXPECT_EQ(d.members.size(), 3u);
  EXPECT_EQ(explain(d),
            "C holds /c and waits for /a; A holds /a and waits for /b; "
            "B holds /b and waits for /c");
  locks.add("/x", {"X", 8, 11});
  locks.add("/x", {"Y", 9, 12, {13}});
  locks.add("/y", {"Y", 9, 13});
  locks.add("/y", {"X", 8, 14, {11}});
  EXPECT_EQ(locks.deadlocks().size(), 2u);
}

TEST(wait_graph, a_task_that_waits_for_itself) {
  inspected_locks locks;
  locks.add("/x", {.owner = "A", .session = 1, .id = 1, .role = role::reader});
  locks.add("/x", {.owner = "A", .session = 1, .id = 2, .holds = {1}, .role = role::writer});
  const auto d = only(locks);
  EXPECT_TRUE(d.certain);
  EXPECT_EQ(explain(d), "A holds /x as a reader and waits for /x");
}

TEST(wait_graph, readers_do_not_wait_for_readers) {
  inspected_locks locks;
  locks.add("/x", {.owner = "A", .session = 1, .id = 1, .role = role::reader});
  locks.add("/x", {.owner = "B", .session = 2, .id = 2, .role = role::reader});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"A", 1, 4, {1}});
  EXPECT_TRUE(locks.deadlocks().empty());
}

TEST(wait_graph, a_reader_waits_for_a_writer_that_waits_for_readers) {
  inspected_locks locks;
  locks.add("/x", {.owner = "A", .session = 1, .id = 1, .role = role::reader});
  locks.add("/x", {.owner = "W", .session = 2, .id = 2, .role = role::writer});
  locks.add("/x", {.owner = "B", .session = 3, .id = 3, .holds = {5}, .role = role::reader});
  locks.add("/y", {"B", 3, 5});
  locks.add("/y", {"A", 1, 6, {1}});
  const auto d = only(locks);
  EXPECT_TRUE(d.certain);
  EXPECT_EQ(d.members.size(), 3u);
  EXPECT_EQ(explain(d),
            "W waits for /x; A holds /x as a reader and waits for /y; "
            "B holds /y and waits for /x as a reader");
}

TEST(wait_graph, a_semaphore_needs_all_holders_to_be_stuck) {
  inspected_locks locks;
  locks.add_permit("/s", 2, {"A", 1, 1}, true);
  locks.add_permit("/s", 2, {"B", 2, 2}, true);
  locks.add_permit("/s", 2, {"C", 3, 3, {4}}, false);
  locks.add("/x", {"C", 3, 4});
  locks.add("/x", {"A", 1, 5, {1}});
  EXPECT_TRUE(locks.deadlocks().empty()) << "B can release its permit";
  locks.add("/x", {"B", 2, 6, {2}});
  const auto d = only(locks);
  EXPECT_TRUE(d.certain);
  EXPECT_EQ(d.members.size(), 3u);
  EXPECT_NE(explain(d).find("holds a permit of /s and waits for /x"), std::string::npos);
}

TEST(wait_graph, a_free_permit_is_no_deadlock) {
  inspected_locks locks;
  locks.add_permit("/s", 2, {"A", 1, 1}, true);
  locks.add_permit("/s", 2, {"C", 3, 3, {4}}, false);
  locks.add("/x", {"C", 3, 4});
  locks.add("/x", {"A", 1, 5, {1}});
  EXPECT_TRUE(locks.deadlocks().empty());
}

TEST(wait_graph, a_call_that_expects_another_number_of_permits_fails) {
  inspected_locks locks;
  locks.add_permit("/s", 1, {"A", 1, 1}, true);
  locks.add_permit("/s", 2, {"C", 3, 3, {4}}, false);
  locks.recipe("/s", recipe_info::kind::semaphore).permits = 1;
  locks.add("/x", {"C", 3, 4});
  locks.add("/x", {"A", 1, 5, {1}});
  EXPECT_FALSE(only(locks).certain);
}

TEST(wait_graph, the_nodes_of_a_multi_mutex_are_one_task) {
  inspected_locks locks;
  locks.add("/x", {"M", 1, 1});  // the multi_mutex is first here
  locks.add("/x", {"B", 2, 2, {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"M", 1, 1});  // and waits here
  const auto d = only(locks);
  EXPECT_TRUE(d.certain);
  EXPECT_EQ(explain(d), "B holds /y and waits for /x; M holds /x and waits for /y");
}

TEST(wait_graph, a_multi_mutex_that_is_ahead_blocks_like_a_holder) {
  inspected_locks locks;
  locks.add("/x", {"H", 5, 9});
  locks.add("/x", {"M", 1, 1});
  locks.add("/x", {"B", 2, 2, {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"M", 1, 1});
  const auto d = only(locks);
  EXPECT_TRUE(d.certain);
  EXPECT_EQ(explain(d),
            "B holds /y and waits for /x; M is ahead in the wait queue of /x and waits for /y");
}

TEST(wait_graph, an_id_that_is_not_unique_proves_nothing) {
  inspected_locks locks;
  locks.add("/x", {"A", 1, 1});
  locks.add("/x", {"B", 2, 2, {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"A", 1, 4, {1}});
  locks.add("/z", {"copy", 7, 1});
  for (const auto& d : locks.deadlocks()) EXPECT_FALSE(d.certain);
}

TEST(wait_graph, calls_that_may_be_refused_are_not_certain) {
  inspected_locks locks;
  locks.add("/x", {"A", 1, 1});
  locks.add("/x", {"B", 2, 2, {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"A", 1, 4, {1}});
  EXPECT_TRUE(only(locks).certain);
  auto seen = locks.seen();
  seen.recipes.insert(seen.recipes.begin() + 1, seen.recipes[0]);  // two layouts at /x
  seen.recipes[1].layout = "kazoo";
  seen.recipes[1].contenders.resize(1);
  for (const auto& d : wait_graph{seen}.deadlocks()) EXPECT_FALSE(d.certain);
  locks.add("/y", {.owner = "reader of another library", .session = 5, .role = role::reader});
  EXPECT_FALSE(only(locks).certain);
}

TEST(wait_graph, elections_and_unreadable_nodes_are_not_part_of_it) {
  inspected_locks locks;
  locks.add("/x", {"A", 1});
  locks.add("/x", {"B", 2});
  locks.add("/y", {"B", 2});
  locks.add("/y", {"A", 1});
  EXPECT_EQ(locks.deadlocks().size(), 1u);
  locks.recipe("/y", {}).contenders[1].readable = false;
  EXPECT_TRUE(locks.deadlocks().empty());
  locks.recipe("/y", {}).contenders[1].readable = true;
  locks.recipe("/x", {}).what = recipe_info::kind::election;
  EXPECT_TRUE(locks.deadlocks().empty());
}

TEST(wait_graph, names_blockers_and_waits) {
  inspected_locks locks;
  locks.add("/x", {.owner = "A", .session = 1, .id = 1, .role = role::reader});
  locks.add("/x", {.owner = "B", .session = 2, .id = 2, .role = role::writer});
  locks.add("/x", {.owner = "C", .session = 3, .id = 3, .role = role::reader});
  locks.add_permit("/y", 1, {"B", 2, 4}, true);
  locks.add_permit("/y", 1, {"A", 1, 5, {1}}, false);
  const wait_graph g{locks.seen()};
  using place = wait_graph::place;
  EXPECT_TRUE(g.blockers_of({0, 0}).all.empty());
  EXPECT_EQ(g.blockers_of({0, 1}).all, (std::vector<place>{{0, 0}}));
  EXPECT_EQ(g.blockers_of({0, 2}).all, (std::vector<place>{{0, 1}}));
  const auto permit = g.blockers_of({1, 1});
  EXPECT_EQ(permit.any, (std::vector<place>{{1, 0}}));
  EXPECT_EQ(permit.any_of_these, 1u);
  const auto waits = g.waits_of({0, 0});
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].waiter, (place{1, 1}));
  EXPECT_TRUE(waits[0].certain);
  EXPECT_TRUE(g.waits_of({1, 0}).empty());
}

TEST(wait_graph, ten_thousand_waiters) {
  inspected_locks locks;
  locks.add("/x", {"A", 1, 1});
  for (int i = 0; i < 10'000; ++i) locks.add("/x", {"W", 100 + i, 1000 + i});
  locks.add("/x", {"B", 2, 2, {3}});
  locks.add("/y", {"B", 2, 3});
  locks.add("/y", {"A", 1, 4, {1}});
  EXPECT_EQ(only(locks).members.size(), 2u);
}

}  // namespace
}  // namespace conclave::testing
