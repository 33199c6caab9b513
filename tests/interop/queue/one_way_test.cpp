// One library pushes items, the other pops them.
#include <future>
#include <optional>
#include <string>

#include "fixture.hpp"

namespace conclave::testing {
namespace {

constexpr int item_count = 40;

class one_way_queue : public with_a_recipe {
 protected:
  // Pops or claims the next item, or returns nothing if the queue is empty.
  std::optional<queue_item> take_next(queue& q) {
    if (GetParam() != recipe::kazoo_locking) return q.try_pop();
    auto job = q.try_claim();
    if (!job) return std::nullopt;
    queue_item item{job->name(), job->data(), job->priority()};
    job->complete();
    return item;
  }

  item_list take_all(queue& q) {
    item_list all;
    while (const auto item = take_next(q)) all.push_back(item->data);
    return all;
  }

  std::optional<std::string> await_one(queue& q) {
    if (GetParam() != recipe::kazoo_locking) {
      const auto item = q.pop_for(wait_limit);
      return item ? std::optional{item->data} : std::nullopt;
    }
    auto job = q.claim_for(wait_limit);
    if (!job) return std::nullopt;
    job->complete();
    return job->data();
  }

  item_list taken_by_them() {
    auto consumer = start(side::theirs, GetParam(), "consume");
    put_ends(GetParam(), 1);
    consumer.open_gate();
    return consumer.finish().popped;
  }
};

INSTANTIATE_TEST_SUITE_P(recipes, one_way_queue,
                         ::testing::Values(recipe::zookeeper, recipe::curator, recipe::kazoo,
                                           recipe::kazoo_locking),
                         name_of_param);

TEST_P(one_way_queue, from_the_peer_to_conclave_keeps_the_order) {
  auto producer = start(side::theirs, GetParam(), "produce:a:" + std::to_string(item_count));
  producer.open_gate();
  producer.finish();
  auto q = open(GetParam());
  EXPECT_EQ(q.size(), item_count);
  const auto first = q.front();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->data, "a-0");
  EXPECT_EQ(take_all(q), items_named("a", item_count));
  expect_empty(GetParam());
}

TEST_P(one_way_queue, from_conclave_to_the_peer_keeps_the_order) {
  auto q = open(GetParam());
  for (const auto& item : items_named("a", item_count)) q.push(item);
  q.push(items_named("b", item_count));
  EXPECT_EQ(taken_by_them(), items_named("a", item_count) + items_named("b", item_count));
  expect_empty(GetParam());
}

TEST_P(one_way_queue, a_push_of_the_peer_wakes_conclave) {
  make_queue();
  auto q = open(GetParam());
  auto producer = start(side::theirs, GetParam(), "produce:a:3");
  for (const auto& expected : items_named("a", 3)) {
    auto waiting = std::async(std::launch::async, [&] { return await_one(q); });
    producer.open_gate();  // has an effect only the first time
    EXPECT_EQ(waiting.get(), expected);
  }
  producer.finish();
  expect_empty(GetParam());
}

TEST_P(one_way_queue, a_push_of_conclave_wakes_the_peer) {
  make_queue();
  auto q = open(GetParam());
  auto consumer = start(side::theirs, GetParam(), "consume");
  consumer.open_gate();
  for (const auto& item : items_named("a", 3)) {
    q.push(item);
    EXPECT_EQ(consumer.next("popped"), item);
  }
  q.push("end");
  consumer.finish();
  expect_empty(GetParam());
}

// Curator creates containers, which the server removes when they are empty. (With DistributedQueue,
// the second process that creates the queue would fail.)
using queue_that_is_removed = one_way_queue;
INSTANTIATE_TEST_SUITE_P(recipes, queue_that_is_removed,
                         ::testing::Values(recipe::curator, recipe::kazoo), name_of_param);

TEST_P(queue_that_is_removed, while_a_consumer_waits_is_created_again) {
  make_queue();
  auto q = open(GetParam());
  auto waiting = std::async(std::launch::async, [&] { return await_one(q); });
  auto producer = start(side::theirs, GetParam(), "produce:a:1");
  zk.remove(path);
  producer.open_gate();
  EXPECT_EQ(waiting.get(), "a-0");
  producer.finish();
}

using queue_with_priorities = one_way_queue;
INSTANTIATE_TEST_SUITE_P(recipes, queue_with_priorities,
                         ::testing::Values(recipe::kazoo, recipe::kazoo_locking), name_of_param);

TEST_P(queue_with_priorities, of_the_peer_is_popped_in_order_by_conclave) {
  auto producer =
      start(side::theirs, GetParam(), "produce:last:5:999,produce:middle:5,produce:first:5:0");
  producer.open_gate();
  producer.finish();
  auto q = open(GetParam());
  const auto expected = items_named("first", 5) + items_named("middle", 5) + items_named("last", 5);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto item = take_next(q);
    ASSERT_TRUE(item);
    EXPECT_EQ(item->data, expected[i]);
    EXPECT_EQ(item->priority, i < 5 ? 0 : i < 10 ? default_priority : 999);
  }
  expect_empty(GetParam());
}

TEST_P(queue_with_priorities, of_conclave_is_popped_in_order_by_the_peer) {
  auto q = open(GetParam());
  q.push(items_named("last", 5), 998);  // the `end` item has priority 999
  for (const auto& item : items_named("middle", 5)) q.push(item);
  q.push(items_named("first", 5), 0);
  EXPECT_EQ(taken_by_them(),
            items_named("first", 5) + items_named("middle", 5) + items_named("last", 5));
  expect_empty(GetParam());
}

}  // namespace
}  // namespace conclave::testing
