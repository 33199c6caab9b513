// Sorts a wait queue, and determines which contenders hold the lock and since when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "conclave/contender_info.hpp"
#include "conclave/node.hpp"

namespace conclave::client_impl {

// A contender whose node was found in a listing.
struct listed_contender {
  contender_info info;
  std::int32_t number = 0;  // the sequence number
  // `present` means that the contender is in the wait queue. `present_if_conclave_node` means that
  // the contender is in the wait queue only if the data of its node shows that Conclave created the
  // node. `absent` means that it is not in the wait queue.
  enum class presence { present, present_if_conclave_node, absent } state = presence::present;
};

// Sorts by sequence number. If the sequence numbers are exhausted and no longer define an order,
// sorts by order of creation (czxid).
void sort_wait_queue(std::vector<listed_contender>& all);

// Sets contender_info::holds of the contenders in a sorted wait queue of a lock.
void mark_holders(std::vector<listed_contender>& sorted);

// Sets contender_info::holds of the leases of a semaphore. `leases` and `waiting`, the wait queue
// of the semaphore, are sorted. The newest lease may belong to the first waiter, which creates its
// lease before a permit is free. If the number of permits is not recorded, this is so if the lease
// and the first waiter belong to the same session.
void mark_permit_holders(std::vector<listed_contender>& leases, std::optional<std::size_t> permits,
                         const std::vector<listed_contender>& waiting);

// Sets the members that come from the contender's node: all except node, role, holds and granted.
void set_node_info(contender_info& info, const get_result& node);

// Sets contender_info::granted of all readable holders. If contenders are missing, the bounds may
// be wider. `lock` is the result of reading the parent of the contenders. Read it after them.
void estimate_grants(const get_result& lock, std::vector<listed_contender>& contenders);

}  // namespace conclave::client_impl
