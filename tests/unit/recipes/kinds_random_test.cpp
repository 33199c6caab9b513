// Histories over all kinds of locks; what they do is in kinds_history.
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "kinds_history.hpp"

namespace conclave::simulated {
namespace {

bool holds(std::uint64_t seed, kinds_tally& t) {
  const auto wrong = run_history(seed, t);
  if (wrong.empty()) return true;
  std::string text;
  for (std::size_t i = 0; i < wrong.size() && i < 8; ++i) text += "\n  " + wrong[i];
  ADD_FAILURE() << "seed " << seed << text << "\nto replay: CONCLAVE_SEED=" << seed
                << " recipes_test --gtest_filter=kinds_histories.*";
  return false;
}

TEST(kinds_histories, exclude_and_leave_nothing_behind_whatever_breaks) {
  kinds_tally t;
  if (const auto* one = std::getenv("CONCLAVE_SEED")) {
    holds(std::strtoull(one, nullptr, 10), t);
    std::cout << t << '\n';
    return;
  }
  const auto* more = std::getenv("CONCLAVE_SEEDS");
  const auto* from = std::getenv("CONCLAVE_FIRST_SEED");
  const std::uint64_t first = from ? std::strtoull(from, nullptr, 10) : 1;
  const std::uint64_t seeds = more ? std::strtoull(more, nullptr, 10) : 800;
  int failed = 0;
  for (auto seed = first; seed < first + seeds && failed < 5; ++seed) failed += !holds(seed, t);
  std::cout << t << '\n';
  EXPECT_GT(t.grants, t.histories);
  for (const int happened : {t.shared_grants, t.permits, t.leaders, t.full, t.downgrades,
                             t.failed_downgrades, t.revocations, t.robbed_holders, t.holders_hit,
                             t.suspended, t.losses, t.holders_expired, t.given_up})
    EXPECT_GT(happened, 0);
}

}  // namespace
}  // namespace conclave::simulated
