// Splitting of the names of sequential nodes.
#include "recipes/sequence_number.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace conclave::recipes {
namespace {

using readings = std::vector<std::pair<std::string, std::int32_t>>;

readings split(const std::string& name) {
  readings all;
  for (const auto& each : split_sequence_number(name))
    if (each) all.emplace_back(each->prefix, each->number);
  return all;
}

TEST(sequence_number, is_split_from_the_prefix) {
  EXPECT_EQ(split("lock-0000000042"), (readings{{"lock-", 42}}));
  EXPECT_EQ(split("qn-2147483647"), (readings{{"qn", -2147483647}, {"qn-", 2147483647}}));
  EXPECT_EQ(split("0000000042"), (readings{{"", 42}}));
}

TEST(sequence_number, is_negative_after_the_overflow) {
  EXPECT_EQ(split("lock--2147483648"), (readings{{"lock-", -2147483647 - 1}}));
  EXPECT_EQ(split("lock--999999999"), (readings{{"lock-", -999999999}}));
  EXPECT_EQ(split("lock--000000001"), (readings{{"lock-", -1}}));
  EXPECT_EQ(split("-2147483648"), (readings{{"", -2147483647 - 1}}));
}

TEST(sequence_number, is_missing_in_other_names) {
  for (const auto* name : {"", "lock-", "lock-42", "lock-000000004x", "lock-9999999999", "-"})
    EXPECT_TRUE(split(name).empty()) << name;
}

}  // namespace
}  // namespace conclave::recipes
