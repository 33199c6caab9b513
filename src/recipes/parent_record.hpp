// The data in a lock's path: the ticket that was served last, or the number of permits. See
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

// The parent record of a lock. It says that all tickets up to `served` have left the wait queue. It
// is written only in the transaction that deletes a holder's node. It contains the czxid of the
// parent. So a parent record is ignored if the tree was copied or restored, or if the parent was
// created again.
//
// Near the end of the sequence numbers, the parent record contains none_served, so that no ticket
// counts as served after the sequence numbers have overflowed.
inline constexpr std::int32_t none_served = std::numeric_limits<std::int32_t>::min();
std::string format_served_record(std::int64_t parent_czxid, std::int32_t served);

// The parent record of a semaphore. A contender for a permit writes it if it is missing, or if no
// other permit is held.
std::string format_permits_record(std::int64_t path_czxid, std::size_t permits);

struct parent_record {
  bool writable = false;  // the data is empty or a parent record; never overwrite other data
  std::optional<std::int32_t> served;
  std::optional<std::size_t> permits;
};
parent_record parse_parent_record(std::string_view data, const node_stat& parent);
// Returns true if the data is a parent record, even if its czxid is that of another node.
bool is_parent_record(std::string_view data);

}  // namespace conclave::recipes
