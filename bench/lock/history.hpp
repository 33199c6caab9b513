// What the recorded cycles of all contenders tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cycle.hpp"
#include "harness/figures.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* latency_p90_us = "latency_p90_us";
inline constexpr const char* lock_us = "lock_us";  // until lock returned; the median
inline constexpr const char* us_per_operation = "us_per_operation";
inline constexpr const char* operations = "operations";
}  // namespace figure

// A stretch of time that counts, of monotonic_ns().
struct time_span {
  std::int64_t from{0};
  std::int64_t until{0};
};

// One contender alone: its cycles, and how long each took, unlock included.
figures cycle_figures(const std::vector<cycle>& all, const time_span& counted);

// Several: how often the lock passed to another contender, and how long that took one that already
// waited, from unlock called to lock returned. Throws std::runtime_error if two contenders held the
// lock at a time.
figures hand_off_figures(std::vector<cycle> all, const time_span& counted);

}  // namespace conclave::bench
