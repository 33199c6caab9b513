// The recorded lock cycles of all contenders, and the figures computed from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "driver/results.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* latency_p90_us = "latency_p90_us";
inline constexpr const char* lock_us = "lock_us";  // from the call of lock to its return, median
inline constexpr const char* us_per_operation = "us_per_operation";
inline constexpr const char* operations = "operations";
}  // namespace figure

// One lock and unlock of one contender, as every worker records it. The times are values of
// monotonic_ns(), so that the cycles of several processes can be merged into one history.
struct lock_cycle {
  std::int64_t contender;
  std::int64_t lock_called;
  std::int64_t acquired;  // lock has returned
  std::int64_t unlock_called;
  std::int64_t released;  // unlock has returned
};
static_assert(sizeof(lock_cycle) == 5 * sizeof(std::int64_t),
              "the file contains only these five values");

// The file contains the cycles in their memory layout. Both functions throw std::runtime_error.
void write_cycles(const std::filesystem::path& file, const std::vector<lock_cycle>& cycles);
std::vector<lock_cycle> read_cycles(const std::filesystem::path& file);

// The measured part of a round, as values of monotonic_ns().
struct time_span {
  std::int64_t from{0};
  std::int64_t until{0};
};

// For one contender: the number of cycles, and the time of each cycle including unlock.
figures cycle_figures(const std::vector<lock_cycle>& all, const time_span& counted);

// For several contenders: the number of hand-offs, and the time of a hand-off to a waiter, from the
// call of unlock to the return of lock. Throws std::runtime_error if two contenders held the lock
// at the same time.
figures hand_off_figures(std::vector<lock_cycle> all, const time_span& counted);

}  // namespace conclave::bench
