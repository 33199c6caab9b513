// The nodes below some paths, and their children. Queue items and contenders can be numerous. They
// are listed by their parents but not visited.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/inventory/names.hpp"
#include "conclave/client.hpp"

namespace conclave::cli {

struct node_tree {
  std::map<std::string, children_result> nodes;
  // The nodes that could not be read, and why. Does not include nodes that were removed meanwhile.
  std::vector<std::pair<std::string, error_code>> unreadable;

  const children_result* find(const std::string& path) const {
    const auto at = nodes.find(path);
    return at == nodes.end() ? nullptr : &at->second;
  }
};

// Throws if the server cannot be reached.
node_tree read_tree(client& zk, const std::vector<std::string>& roots, const known_names& names);

}  // namespace conclave::cli
