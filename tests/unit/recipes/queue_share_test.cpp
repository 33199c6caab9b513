// How active consumers divide the items of a queue.
#include <gtest/gtest.h>

#include "recipes/queue/consumer_share.hpp"

namespace conclave::recipes {
namespace {

using numbers = std::vector<std::uint32_t>;

class queue_share : public testing::Test {
 protected:
  using part = consumer_share::part;

  // Selects from these items, as the consumer "b" of "a" and "b".
  numbers select(const numbers& items) { return select_as("b", {"b", "a"}, items); }
  numbers select_as(const std::string& own, const std::vector<std::string>& consumers,
                    const numbers& items) {
    const auto selection = share.select(named(items), consumers, own);
    selected_part = selection.acquires;
    numbers selected;
    for (const auto& item : selection.items) selected.push_back(item.number);
    return selected;
  }
  static std::vector<item_name> named(const numbers& items) {
    std::vector<item_name> all;
    for (const auto n : items) all.push_back({"qn-" + std::to_string(n), 100, n});
    return all;
  }

  part selected_part = part::all_in_order;  // of the last selection

  consumer_share share;
};

TEST_F(queue_share, all_items_belong_to_a_consumer_that_has_met_no_other) {
  EXPECT_EQ(select({0, 1, 2}), (numbers{0, 1, 2}));
}

TEST_F(queue_share, items_are_divided_by_number) {
  EXPECT_TRUE(share.begin());
  EXPECT_FALSE(share.begin());
  EXPECT_EQ(select({0, 1, 2, 3}), (numbers{1, 3}));
  EXPECT_EQ(selected_part, part::share_in_order);
}

TEST_F(queue_share, items_are_not_divided_by_a_consumer_alone) {
  share.begin();
  EXPECT_EQ(select_as("b", {"b"}, {0, 1}), (numbers{0, 1}));
  EXPECT_EQ(select_as("b", {"a", "c"}, {0, 1}), (numbers{0, 1})) << "own counter node not listed";
  EXPECT_EQ(select_as("b", {}, {0, 1}), (numbers{0, 1}));
}

TEST_F(queue_share, stalled_items_ahead_of_the_share_are_included) {
  share.begin();
  EXPECT_EQ(select({0, 2, 5, 6}), (numbers{5}));
  EXPECT_EQ(select({2, 5, 8}), (numbers{2, 5})) << "2 was ahead of 5 already";
}

TEST_F(queue_share, all_items_are_selected_if_others_make_no_progress) {
  share.begin();
  EXPECT_EQ(select({1, 2, 3, 4}), (numbers{1, 3}));
  EXPECT_EQ(select({2, 4, 5}), (numbers{2, 4, 5})) << "2 and 4 are still in the queue";
  EXPECT_EQ(select({6, 7}), (numbers{6, 7})) << "the division has ended";
  EXPECT_TRUE(share.begin());
  EXPECT_EQ(select({6, 7}), (numbers{7}));
}

// Otherwise the consumer would wait although the queue contains items.
TEST_F(queue_share, a_consumer_with_an_empty_share_competes_for_all_items) {
  share.begin();
  EXPECT_EQ(select({2, 4}), (numbers{2, 4}));
  EXPECT_EQ(selected_part, part::all_in_random_order);
}

TEST_F(queue_share, a_short_queue_with_many_consumers_is_contended) {
  EXPECT_FALSE(consumer_share::is_contended(64, 10));
  EXPECT_TRUE(consumer_share::is_contended(65, 10));
  EXPECT_TRUE(consumer_share::is_contended(100, 399));
  EXPECT_FALSE(consumer_share::is_contended(100, 400)) << "enough items for exact shares";
}

TEST_F(queue_share, consumers_of_a_contended_queue_acquire_in_random_order) {
  EXPECT_EQ(share.select_at_random(named({1, 2})).acquires, part::all_in_order);
  share.begin();
  EXPECT_EQ(share.select_at_random(named({1, 2})).acquires, part::all_in_random_order);
  share.begin();
  EXPECT_EQ(share.select_at_random(named({1, 2})).acquires, part::all_in_random_order);
  EXPECT_EQ(share.select_at_random(named({1, 2})).acquires, part::all_in_order)
      << "met no other consumer since the last selection";
  EXPECT_TRUE(share.begin()) << "the division has ended";
}

}  // namespace
}  // namespace conclave::recipes
