// How active consumers divide the items of a queue.
#include <gtest/gtest.h>

#include "recipes/queue/consumer_share.hpp"

namespace conclave::recipes {
namespace {

using numbers = std::vector<std::uint32_t>;

class queue_share : public testing::Test {
 protected:
  // Selects from these items, as the consumer "b" of "a" and "b".
  numbers select(const numbers& items, bool never_empty = false) {
    return select_as("b", {"b", "a"}, items, never_empty);
  }
  numbers select_as(const std::string& own, const std::vector<std::string>& consumers,
                    const numbers& items, bool never_empty = false) {
    std::vector<item_name> all;
    for (const auto n : items) all.push_back({"qn-" + std::to_string(n), 100, n});
    numbers selected;
    for (const auto& item : share.select(all, consumers, own, never_empty))
      selected.push_back(item.number);
    return selected;
  }

  consumer_share share;
};

TEST_F(queue_share, all_items_belong_to_a_consumer_that_has_met_no_other) {
  EXPECT_EQ(select({0, 1, 2}), (numbers{0, 1, 2}));
}

TEST_F(queue_share, items_are_divided_by_number) {
  EXPECT_TRUE(share.begin());
  EXPECT_FALSE(share.begin());
  EXPECT_EQ(select({0, 1, 2, 3}), (numbers{1, 3}));
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

TEST_F(queue_share, an_empty_share_is_empty_only_if_callers_wait) {
  share.begin();
  EXPECT_EQ(select({2}), numbers{});
  share = {};
  share.begin();
  EXPECT_EQ(select({2}, true), numbers{2});
}

}  // namespace
}  // namespace conclave::recipes
