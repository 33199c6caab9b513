// One lock and unlock of one contender, as every contestant records it.
//
// The stamps are nanoseconds of CLOCK_MONOTONIC, which C++, Java and Python on one machine share,
// so that the cycles of several processes make one history.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace conclave::bench {

struct cycle {
  std::int64_t contender;
  std::int64_t lock_called;
  std::int64_t acquired;  // lock has returned
  std::int64_t unlock_called;
  std::int64_t released;  // unlock has returned
};
static_assert(sizeof(cycle) == 5 * sizeof(std::int64_t), "the file has nothing else in it");

std::int64_t monotonic_ns();

// The cycles as they lie in memory. Both throw std::runtime_error.
void write_cycles(const std::filesystem::path& file, const std::vector<cycle>& cycles);
std::vector<cycle> read_cycles(const std::filesystem::path& file);

}  // namespace conclave::bench
