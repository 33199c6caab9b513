// What contenders in several processes did, and whether a lock may have let them.
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

// The rest takes a history so sorted.

// Pairs of which at least one is exclusive, and which were held at the same time.
std::vector<std::string> forbidden_overlaps(const held_history& h);

// How often the lock went from one of ours directly to one of theirs, and the other way.
struct hand_offs {
  int from_us{0};
  int to_us{0};
};
hand_offs count_hand_offs(const held_history& h);

// Pairs of one of ours and one of theirs that were held at the same time.
int overlaps_between_libraries(const held_history& h);

int most_at_a_time(const held_history& h);

// Tokens of ours that are not larger than those of holds of ours before that had to end first.
std::vector<std::string> tokens_out_of_order(const held_history& h);

}  // namespace conclave::testing
