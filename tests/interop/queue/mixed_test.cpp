// Producers and consumers of both libraries at the same time, in separate processes.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fixture.hpp"

namespace conclave::testing {
namespace {

constexpr int items_of_each_producer = 60;
constexpr int pace_ms = 3;
// A consumer of kazoo's Queue that fails to acquire an item pauses for some hundred milliseconds.
// The other consumers must not be finished before it continues.
constexpr int slow_pace_ms = 15;

class mixed_queue : public with_a_recipe {
 protected:
  void SetUp() override { make_queue(); }

  void start(side s, const item_list& producers, int consumers, int pace = pace_ms) {
    std::string roles;
    for (const auto& name : producers)
      roles += ",produce:" + name + ':' + std::to_string(items_of_each_producer);
    for (int i = 0; i < consumers; ++i) roles += ",consume";
    processes.push_back(
        {s, producers,
         std::make_unique<user_process>(s, usage{GetParam(), path, roles.substr(1), pace, 20s})});
    all_consumers += static_cast<std::size_t>(consumers);
  }

  // Runs the processes until all items are consumed, and then ends the consumers.
  void run() {
    for (const auto& p : processes) p.user->open_gate();
    for (const auto& p : processes)
      while (p.user->reported().pushed.size() < p.producers.size() * items_of_each_producer)
        ASSERT_TRUE(p.user->next("pushed"));
    await_empty(GetParam());
    put_ends(GetParam(), all_consumers);
    for (const auto& p : processes) {
      (p.whose == side::ours ? ours : theirs).add(p.user->finish());
      for (const auto& name : p.producers)
        expected = std::move(expected) + items_named(name, items_of_each_producer);
    }
    both.add(ours);
    both.add(theirs);
    EXPECT_EQ(sorted(both.pushed), sorted(expected));
    EXPECT_EQ(sorted(both.popped), sorted(expected));
    // No item is claimed twice.
    if (GetParam() == recipe::kazoo_locking) {
      EXPECT_EQ(sorted(both.claimed), sorted(expected));
    }
    expect_empty(GetParam());
  }

  void forget_round() {
    processes.clear();
    all_consumers = 0;
    expected.clear();
    ours = theirs = both = {};
  }

  static std::size_t common(const item_list& a, const item_list& b) {
    item_list found;
    const auto x = sorted(a);
    const auto y = sorted(b);
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(found));
    return found.size();
  }

  // A single consumer gets the items of each producer in order.
  void expect_order(const item_list& popped) const {
    for (const auto& p : processes)
      for (const auto& name : p.producers) {
        item_list some;
        for (const auto& item : popped)
          if (item.starts_with(name + '-')) some.push_back(item);
        EXPECT_EQ(some, items_named(name, items_of_each_producer));
      }
  }

  struct process {
    side whose;
    item_list producers;
    std::unique_ptr<user_process> user;
  };
  std::vector<process> processes;
  std::size_t all_consumers{0};
  item_list expected;
  queue_history ours;
  queue_history theirs;
  queue_history both;
};

INSTANTIATE_TEST_SUITE_P(recipes, mixed_queue,
                         ::testing::Values(recipe::zookeeper, recipe::curator, recipe::kazoo,
                                           recipe::kazoo_locking),
                         name_of_param);

// Which consumer gets an item is a matter of chance, and kazoo's consumers may get none of ours. So
// rounds are repeated until items went in both directions.
TEST_P(mixed_queue, delivers_each_item_once) {
  std::size_t to_them = 0;
  std::size_t to_us = 0;
  for (int round = 0; round < 10 && !HasFailure() && (to_them == 0 || to_us == 0); ++round) {
    forget_round();
    start(side::theirs, {"a", "b"}, 2);
    start(side::ours, {"c"}, 1, slow_pace_ms);
    start(side::ours, {"d"}, 1, slow_pace_ms);
    run();
    to_them += common(ours.pushed, theirs.popped);
    to_us += common(theirs.pushed, ours.popped);
  }
  RecordProperty("items_from_us_to_them", static_cast<int>(to_them));
  RecordProperty("items_from_them_to_us", static_cast<int>(to_us));
  EXPECT_GT(to_them, 0u);
  EXPECT_GT(to_us, 0u);
}

TEST_P(mixed_queue, keeps_the_order_for_a_single_conclave_consumer) {
  start(side::theirs, {"a", "b"}, 0);
  start(side::ours, {"c", "d"}, 0);
  start(side::ours, {}, 1);
  run();
  expect_order(ours.popped);
}

TEST_P(mixed_queue, keeps_the_order_for_a_single_peer_consumer) {
  start(side::theirs, {"a", "b"}, 1);
  start(side::ours, {"c", "d"}, 0);
  run();
  expect_order(theirs.popped);
}

}  // namespace
}  // namespace conclave::testing
