// Lists the holders and waiters of a lock, and asks a holder to release it. To list all recipes in
// a tree, see inspect.hpp.
#pragma once

#include <string>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/contender_info.hpp"
#include "conclave/layout.hpp"

namespace conclave {

// Returns the contenders in the order of the wait queue. Returns an empty list if nobody uses the
// lock or the path does not exist. Reads the node of every contender. Use the result for inspection
// and not for decisions, because the wait queue may have changed by the time the function returns.
// Throws the same errors as the client's calls, and errc::layout_mismatch.
std::vector<contender_info> contenders(client& c, const std::string& path,
                                       const layout& names = layout::curator());

// Like contenders(), but lists the permits of a semaphore, oldest first. The newest entry may be a
// waiter, because a waiter creates its node before a permit is free. contender_info::holds is false
// for such an entry.
std::vector<contender_info> permits_in_use(client& c, const std::string& path);

// Asks the contender that owns this node to release the lock. The holder is notified by
// lock_options::on_revocation or Curator's Revocable, and may ignore the request. If another
// library created the node, the request overwrites the node's data. Throws errc::no_node if the
// node does not exist.
void ask_to_release(client& c, const std::string& node);

}  // namespace conclave
