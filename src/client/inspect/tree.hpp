// The nodes at and below the given paths, and the names of their children. Queue items and
// contenders can be numerous, so only their names are read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/inspect/names.hpp"
#include "conclave/client.hpp"
#include "conclave/inspect.hpp"

namespace conclave::client_impl {

struct node_tree {
  std::map<std::string, children_result> nodes;
  // The nodes that could not be read, and why. Does not include nodes that were removed during the
  // inspection.
  std::vector<unreadable_node> unreadable;

  const children_result* find(const std::string& path) const {
    const auto at = nodes.find(path);
    return at == nodes.end() ? nullptr : &at->second;
  }
};

// Reads all nodes at and below inspected_paths(paths). Throws the same errors as inspect().
node_tree read_tree(client& c, const std::vector<std::string>& paths, const known_layouts& layouts);

}  // namespace conclave::client_impl
