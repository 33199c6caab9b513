// Lists the holders and waiters of a lock, and asks a holder to release it.
#pragma once

#include <string>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/contender_info.hpp"
#include "conclave/layout.hpp"

namespace conclave {

// Returns the contenders in the order of the wait queue. Returns an empty list if nobody uses the
// lock or the path does not exist. Reads the node of every contender, so use it for inspection and
// not for decisions: the wait queue may have changed when it returns. Throws the same errors as the
// client's calls, and errc::layout_mismatch.
std::vector<contender_info> contenders(client& c, const std::string& path,
                                       const layout& names = layout::curator());

// For tools that read the nodes themselves. describe_contender() sets all members except
// role, holds and granted. estimate_grants() sets `granted` of all holders. It needs all contenders
// of the lock, and the lock's path as read after them.
contender_info describe_contender(std::string node, const get_result& read);
void estimate_grants(const get_result& lock, const std::vector<contender_info*>& contenders);

// Asks the contender that owns this node to release the lock. The holder is notified by
// lock_options::on_revocation or Curator's Revocable, and may ignore the request. For other
// libraries the request replaces the node's data. Throws errc::no_node if the node does not exist.
void ask_to_release(client& c, const std::string& node);

}  // namespace conclave
