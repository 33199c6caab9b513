// The recorded lock cycles of all contenders, and the figures that follow from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "driver/results.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* latency_p90_us = "latency_p90_us";
inline constexpr const char* lock_us =
    "lock_us";  // from the call of lock to its return; the median
inline constexpr const char* us_per_operation = "us_per_operation";
inline constexpr const char* operations = "operations";
}  // namespace figure

// One lock and unlock of one contender, as every worker records it. The times are of
// monotonic_ns(), so that the cycles of several processes make one history.
struct lock_cycle {
  std::int64_t contender;
  std::int64_t lock_called;
  std::int64_t acquired;  // lock has returned
  std::int64_t unlock_called;
  std::int64_t released;  // unlock has returned
};
static_assert(sizeof(lock_cycle) == 5 * sizeof(std::int64_t), "the file has nothing else in it");

// The file has the cycles as they are in memory. Both throw std::runtime_error.
void write_cycles(const std::filesystem::path& file, const std::vector<lock_cycle>& cycles);
std::vector<lock_cycle> read_cycles(const std::filesystem::path& file);

// The measured part of a round, by monotonic_ns().
struct time_span {
  std::int64_t from{0};
  std::int64_t until{0};
};

// One contender alone: its cycles, and how long each took, with unlock.
figures cycle_figures(const std::vector<lock_cycle>& all, const time_span& counted);

// Several contenders: how often the lock was handed off, and how long a hand-off to a waiter took,
// from the call of unlock to the return of lock. Throws std::runtime_error if two contenders held
// the lock at a time.
figures hand_off_figures(std::vector<lock_cycle> all, const time_span& counted);

}  // namespace conclave::bench
