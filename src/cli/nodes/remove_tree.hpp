// A node and everything below it, removed.
#pragma once

#include <string>

#include "conclave/client.hpp"

namespace conclave::cli {

// Others may add and remove nodes there meanwhile; it ends when the node itself is gone. False if
// there was none. Throws conclave::error for what may not be removed, and failure if somebody adds
// nodes faster than they can be removed.
bool remove_tree(client& zk, const std::string& path);

}  // namespace conclave::cli
