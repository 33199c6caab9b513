// What a lock's path tells: which ticket was served last, or how many permits there are. See
// docs/locks.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "conclave/node.hpp"

namespace conclave::recipes {

// Every ticket up to `served` is gone. Written by a holder only, together with the deletion of its
// own node. It names the parent it was written for, so that a copied or restored tree, or a parent
// that was made anew, starts counting anew.
// Near the end of the numbers nothing counts as served any more, so that it does not in the next
// round.
inline constexpr std::int32_t none_served = std::numeric_limits<std::int32_t>::min();
std::string format_served_record(std::int64_t parent_czxid, std::int32_t served);

// Of a semaphore. Written by whoever acquires a permit and finds no such record.
std::string format_permits_record(std::int64_t path_czxid, std::size_t permits);

struct parent_record {
  bool writable = false;  // empty or a record: nobody else's data is overwritten
  std::optional<std::int32_t> served;
  std::optional<std::size_t> permits;
};
parent_record parse_parent_record(std::string_view data, const node_stat& parent);

}  // namespace conclave::recipes
