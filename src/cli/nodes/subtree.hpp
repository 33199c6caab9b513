// Creation of the parents of a node, and removal of a node with its descendants.
#pragma once

#include <string>

#include "conclave/client.hpp"

namespace conclave::cli {

// Creates the missing parents of `path` as persistent nodes.
void make_parents(client& zk, const std::string& path);

// Removes the node and all nodes below it, even if other clients add or remove nodes there during
// the call. Returns when the node itself is removed. Returns false if the node did not exist.
// Throws conclave::error if a node cannot be removed. Throws failure if other clients add nodes
// faster than this function removes them.
bool remove_tree(client& zk, const std::string& path);

}  // namespace conclave::cli
