// One library fills a queue, the other empties it.
#include <future>
#include <optional>
#include <string>

#include "fixture.hpp"

namespace conclave::testing {
namespace {

constexpr int count = 40;

class queue_passed_on : public with_a_recipe {
 protected:
  // What is there, one by one, until there is nothing.
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
      const auto item = q.pop_for(patience);
      return item ? std::optional{item->data} : std::nullopt;
    }
    auto job = q.claim_for(patience);
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

INSTANTIATE_TEST_SUITE_P(recipes, queue_passed_on,
                         ::testing::Values(recipe::zookeeper, recipe::curator, recipe::kazoo,
                                           recipe::kazoo_locking),
                         name_of_param);

TEST_P(queue_passed_on, from_them_to_us_keeps_its_order) {
  auto producer = start(side::theirs, GetParam(), "produce:a:" + std::to_string(count));
  producer.open_gate();
  producer.finish();
  auto q = open(GetParam());
  EXPECT_EQ(q.size(), count);
  const auto first = q.front();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->data, "a-0");
  EXPECT_EQ(take_all(q), items_named("a", count));
  expect_empty(GetParam());
}

TEST_P(queue_passed_on, from_us_to_them_keeps_its_order) {
  auto q = open(GetParam());
  for (const auto& item : items_named("a", count)) q.push(item);
  q.push(items_named("b", count));
  EXPECT_EQ(taken_by_them(), items_named("a", count) + items_named("b", count));
  expect_empty(GetParam());
}

TEST_P(queue_passed_on, wakes_us_when_they_push) {
  make_queue();
  auto q = open(GetParam());
  auto producer = start(side::theirs, GetParam(), "produce:a:3");
  for (const auto& expected : items_named("a", 3)) {
    auto waiting = std::async(std::launch::async, [&] { return await_one(q); });
    producer.open_gate();  // the first time only
    EXPECT_EQ(waiting.get(), expected);
  }
  producer.finish();
  expect_empty(GetParam());
}

TEST_P(queue_passed_on, wakes_them_when_we_push) {
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

// Curator makes containers, which the server removes when they are empty. (With DistributedQueue
// whoever makes it a moment later fails.)
using queue_that_goes_away = queue_passed_on;
INSTANTIATE_TEST_SUITE_P(recipes, queue_that_goes_away,
                         ::testing::Values(recipe::curator, recipe::kazoo), name_of_param);

TEST_P(queue_that_goes_away, while_we_wait_is_made_again) {
  make_queue();
  auto q = open(GetParam());
  auto waiting = std::async(std::launch::async, [&] { return await_one(q); });
  auto producer = start(side::theirs, GetParam(), "produce:a:1");
  zk.remove(path);
  producer.open_gate();
  EXPECT_EQ(waiting.get(), "a-0");
  producer.finish();
}

using queue_with_priorities = queue_passed_on;
INSTANTIATE_TEST_SUITE_P(recipes, queue_with_priorities,
                         ::testing::Values(recipe::kazoo, recipe::kazoo_locking), name_of_param);

TEST_P(queue_with_priorities, of_theirs_is_emptied_in_their_order_by_us) {
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

TEST_P(queue_with_priorities, of_ours_is_emptied_in_their_order_by_them) {
  auto q = open(GetParam());
  q.push(items_named("last", 5), 998);  // the consumer's end has 999
  for (const auto& item : items_named("middle", 5)) q.push(item);
  q.push(items_named("first", 5), 0);
  EXPECT_EQ(taken_by_them(),
            items_named("first", 5) + items_named("middle", 5) + items_named("last", 5));
  expect_empty(GetParam());
}

}  // namespace
}  // namespace conclave::testing
