// Counts durations in fixed buckets, as a histogram of Prometheus does.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "web/moment.hpp"

namespace conclave::web {

struct histogram {
  // The upper bounds of the buckets, in seconds. The last bucket has no bound.
  static constexpr std::array<double, 16> limits{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                 0.5,   1,      2.5,   5,    10,    30,   120, 600};

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
