// The order of a wait queue, and who holds the lock by that order.
#pragma once

#include <cstdint>
#include <vector>

#include "conclave/contender_info.hpp"
#include "conclave/node.hpp"

namespace conclave::detail {

// A contender whose node was found in a listing.
struct listed_contender {
  contender_info info;
  std::int32_t number = 0;  // the sequence number
  // Whether it counts: its node exists, and belongs to a lock.
  enum class standing { present, present_if_ours, absent } state = standing::present;
};

// Sorts by sequence number. Where sequence numbers are exhausted they give no order, so it sorts by
// creation.
void sort_wait_queue(std::vector<listed_contender>& all);

// Sets contender_info::holds of the contenders in a sorted wait queue of a lock.
void mark_holders(std::vector<listed_contender>& sorted);

// Sets what the contender's node shows: all members except node, role, holds and granted.
void describe(contender_info& info, const get_result& node);

// Sets contender_info::granted of all holders. Needs all contenders of the lock, and the lock's
// path as read after them.
void estimate_grants(const get_result& lock, const std::vector<contender_info*>& contenders);

}  // namespace conclave::detail
