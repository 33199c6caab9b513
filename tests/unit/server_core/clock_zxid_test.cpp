// The first zxid of a server, derived from the clock.

#include "server/core/clock_zxid.hpp"

#include <gtest/gtest.h>

namespace conclave::server_impl {
namespace {

constexpr std::int64_t in_2025 = 1'735'689'600'000;
constexpr std::int64_t in_2026 = 1'767'225'600'000;
constexpr std::int64_t in_2039 = 2'177'452'800'000;
constexpr std::int64_t in_2094 = 3'913'056'000'000;  // its first day

// The numbering of earlier versions.
constexpr std::int64_t old_form(std::int64_t wall_ms) {
  return wall_ms / 1000 << 32 | (wall_ms % 1000 << 32) / 1000;
}

TEST(clock_zxid, has_room_for_4096_changes_in_a_millisecond) {
  EXPECT_EQ(clock_zxid(in_2025 + 1, 0), 4096);
  EXPECT_EQ(clock_zxid(in_2026 + 1, 0) - clock_zxid(in_2026, 0), 4096);
}

TEST(clock_zxid, is_exact_in_a_double_until_2094) {
  for (const auto when : {in_2026, in_2039, in_2094})
    EXPECT_LT(clock_zxid(when, 0), std::int64_t{1} << 53);
}

TEST(clock_zxid, never_decreases_or_overflows) {
  std::int64_t before = 0;
  for (auto ms = in_2025; ms < in_2094 * 2; ms += 40'000'000'001) {
    const auto zxid = clock_zxid(ms, before);
    ASSERT_GT(zxid, before);
    before = zxid;
  }
}

TEST(clock_zxid, is_positive_when_the_clock_is_before_2025) {
  for (const auto when : {std::int64_t{-1000}, std::int64_t{0}, in_2025 - 1, in_2025})
    EXPECT_EQ(clock_zxid(when, 0), 1);
}

// The store may be a backup, and clients may have received newer tokens.
TEST(clock_zxid, continues_after_a_backup_with_the_old_numbering) {
  const auto stored = old_form(in_2026 - 3'600'000);
  EXPECT_EQ(clock_zxid(in_2026 + 500, stored), old_form(in_2026 + 500));
  EXPECT_GT(clock_zxid(in_2026 + 500, stored), stored);
}

TEST(clock_zxid, is_below_a_stored_zxid_of_the_old_numbering_after_2039) {
  const auto stored = old_form(in_2026);
  EXPECT_GT(clock_zxid(in_2039, stored), 0);
  EXPECT_LT(clock_zxid(in_2039, stored), stored) << "the stored zxid is used";
}

}  // namespace
}  // namespace conclave::server_impl
