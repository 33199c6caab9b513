// Waits until a node is deleted, and watches the contender's own node during the wait.
#pragma once

#include <functional>
#include <string>

#include "recipes/owned_nodes.hpp"

namespace conclave::recipes {

struct awaited_node {
  std::string path;
  std::int64_t czxid = 0;  // a node with a different czxid is a different node; 0 matches any
  // The path of a second node. Its deletion triggers `prepare`. Empty if there is none.
  std::string early_path;
  std::function<task<>()> prepare;  // called once, if the second node is deleted or does not exist
};

// Returns when the node is deleted. A lost connection does not end the wait. Returns errc::no_node
// if the node did not exist when the wait began, and errc::waiter_node_deleted if one of the
// contender's own nodes was deleted.
task<error_code> wait_until_deleted(contender_context& c, owned_nodes& nodes, owned_node& own,
                                    awaited_node& awaited);

// Returns the reason why one of the contender's nodes was deleted: by hand
// (errc::waiter_node_deleted), or because the session ended. Sends a read to find out, because the
// watch event may arrive before the end of the session is reported.
task<error_code> why_deleted(contender_context& c, owned_nodes& nodes);

}  // namespace conclave::recipes
