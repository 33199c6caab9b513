// Counts the hand-offs of each lock between inspections.
//
// Each contender has the next sequence number of its lock. So the difference between the sequence
// numbers of two holders is the number of hand-offs between them, even if no inspection has seen
// them. Contenders that gave up count, too. This needs no request.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "conclave/inspect.hpp"

namespace conclave::cli {

class hand_off_rates {
 public:
  using clock = std::chrono::steady_clock;

  void add(const inspection& s, clock::time_point now = clock::now());
  // Returns the hand-offs per second during the last ten seconds. Returns nullopt if the lock was
  // observed for less than a second, or its nodes have no sequence numbers.
  std::optional<double> of(const recipe_info& r, clock::time_point now = clock::now()) const;

 private:
  struct sample {
    clock::time_point when;
    std::int64_t number;  // the sequence number of the newest holder
  };
  std::map<std::pair<std::string, std::string>, std::deque<sample>> samples_;  // by path and layout
};

// Returns how long the oldest waiter has waited, or nullopt if nobody waits.
std::optional<std::chrono::milliseconds> longest_wait(const recipe_info& r,
                                                      std::chrono::system_clock::time_point now);
std::size_t count_waiters(const recipe_info& r) noexcept;

}  // namespace conclave::cli
