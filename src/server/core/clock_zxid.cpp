#include "server/core/clock_zxid.hpp"

#include <algorithm>

namespace conclave::server_impl {
namespace {

constexpr std::int64_t begin_ms = 1'735'689'600'000;  // 2025-01-01 00:00 UTC
constexpr int bits_for_changes = 12;
constexpr std::int64_t least_of_the_old_form = std::int64_t{1} << 53;

// Nothing once the seconds reach the sign bit, in 2038: then the stored zxid alone counts.
std::int64_t old_form(std::int64_t wall_ms) {
  const auto seconds = wall_ms / 1000;
  if (seconds < 0 || seconds >= std::int64_t{1} << 31) return 0;
  return seconds << 32 | ((wall_ms % 1000) << 32) / 1000;
}

}  // namespace

std::int64_t clock_zxid(std::int64_t wall_ms, std::int64_t stored_zxid) {
  // With a clock from before 2025 it begins at 1: zero stands for an empty store.
  const auto by_clock = std::max<std::int64_t>((wall_ms - begin_ms) * (1 << bits_for_changes), 1);
  return stored_zxid < least_of_the_old_form ? by_clock : std::max(by_clock, old_form(wall_ms));
}

}  // namespace conclave::server_impl
