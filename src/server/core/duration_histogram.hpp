// Counts durations in fixed ranges, for the metrics.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace conclave::server_impl {

struct duration_histogram {
  // The upper limits of the ranges in microseconds. The last range has no limit.
  static constexpr std::array<std::int64_t, 14> limits{50,      100,     250,     500,      1000,
                                                       2500,    5000,    10'000,  25'000,   50'000,
                                                       100'000, 250'000, 500'000, 1'000'000};

  std::array<std::uint64_t, limits.size() + 1> counts{};
  std::uint64_t total = 0;
  std::chrono::nanoseconds sum{0};

  void add(std::chrono::nanoseconds duration) {
    const auto us = std::chrono::ceil<std::chrono::microseconds>(duration).count();
    const auto at = std::lower_bound(limits.begin(), limits.end(), us) - limits.begin();
    ++counts[static_cast<std::size_t>(at)];
    ++total;
    sum += duration;
  }
};

}  // namespace conclave::server_impl
