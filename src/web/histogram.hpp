// Counts durations in fixed buckets, as a histogram of Prometheus does.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "conclave/metrics.hpp"
#include "web/moment.hpp"

namespace conclave::web {

struct histogram {
  // The upper bounds of the buckets, in seconds. The last bucket has no bound. The bounds are those
  // of duration_histogram from one millisecond on. The page learns about grants from
  // watch events, so shorter times mean nothing.
  static constexpr auto limits = [] {
    std::array<double, 16> longest{};
    const auto& all = duration_histogram::limits;
    std::copy(all.end() - longest.size(), all.end(), longest.begin());
    return longest;
  }();
  static_assert(limits.front() == 0.001);

  std::array<std::uint64_t, limits.size() + 1> counts{};
  double sum = 0;  // in seconds
  std::uint64_t total = 0;

  void add(moment duration) {
    const auto seconds = static_cast<double>(duration) / one_second;
    const auto at = std::lower_bound(limits.begin(), limits.end(), seconds) - limits.begin();
    ++counts[static_cast<std::size_t>(at)];
    sum += seconds;
    ++total;
  }
};

}  // namespace conclave::web
