// The holds of contenders in several processes, and checks for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace conclave::testing {

enum class hold_mode { exclusive, shared, lease };

struct held_interval {
  std::string who;
  bool ours{false};
  hold_mode mode{hold_mode::exclusive};
  std::int64_t acquired{0};  // nanoseconds of CLOCK_MONOTONIC, which all processes share
  std::int64_t released{0};
  std::int64_t token{0};  // 0 for libraries that have none
};

using held_history = std::vector<held_interval>;

void sort_by_acquisition(held_history& h);

// The following functions need a sorted history.

// Pairs of holds that overlap although at least one is exclusive.
std::vector<std::string> forbidden_overlaps(const held_history& h);

// The number of direct hand-offs from conclave to another library and back.
struct hand_offs {
  int from_us{0};
  int to_us{0};
};
hand_offs count_hand_offs(const held_history& h);

// Pairs of a conclave hold and a hold of another library that overlap.
int overlaps_between_libraries(const held_history& h);

int most_at_a_time(const held_history& h);

// Conclave's tokens that are not larger than the token of an earlier, excluded hold.
std::vector<std::string> tokens_out_of_order(const held_history& h);

}  // namespace conclave::testing
