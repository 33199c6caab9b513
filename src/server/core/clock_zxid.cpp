#include "server/core/clock_zxid.hpp"

#include <algorithm>

namespace conclave::server_impl {
namespace {

constexpr std::int64_t epoch_ms = 1'735'689'600'000;  // 2025-01-01 00:00 UTC
constexpr int change_bits = 12;
constexpr std::int64_t min_old_form = std::int64_t{1} << 53;

// Returns 0 when the seconds have reached the sign bit in 2038. From then on, the stored zxid is
// used.
std::int64_t zxid_in_old_form(std::int64_t wall_ms) {
  const auto seconds = wall_ms / 1000;
  if (seconds < 0 || seconds >= std::int64_t{1} << 31) return 0;
  return seconds << 32 | ((wall_ms % 1000) << 32) / 1000;
}

}  // namespace

std::int64_t clock_zxid(std::int64_t wall_ms, std::int64_t stored_zxid) {
  // The result is at least 1, even if the clock is before 2025, because 0 means an empty store.
  const auto by_clock = std::max<std::int64_t>((wall_ms - epoch_ms) * (1 << change_bits), 1);
  return stored_zxid < min_old_form ? by_clock : std::max(by_clock, zxid_in_old_form(wall_ms));
}

}  // namespace conclave::server_impl
