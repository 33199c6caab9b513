// Waits until a node is deleted. Watches the contender's own node meanwhile.
#pragma once

#include <functional>
#include <string>

#include "recipes/owned_nodes.hpp"

namespace conclave::recipes {

struct awaited_node {
  std::string path;
  std::int64_t czxid = 0;  // another node with this name is not it; 0: any is
  // A second node, whose deletion is a reason to prepare; empty: none.
  std::string early_path;
  std::function<task<>()> prepare;  // called once, if the second node is deleted or missing
};

// errc::no_node: the node did not exist to begin with. errc::out_of_line: one of the contender's
// own nodes was deleted. Keeps waiting over lost connections.
task<error_code> wait_until_deleted(contender_context& c, owned_nodes& nodes, owned_node& own,
                                    awaited_node& awaited);

// One of the contender's nodes was deleted: by hand, or with its session, whose end was not
// reported yet. Says which.
task<error_code> why_deleted(contender_context& c, owned_nodes& nodes);

}  // namespace conclave::recipes
