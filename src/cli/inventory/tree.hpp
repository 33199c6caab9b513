// The nodes below some paths: who is whose child. Items of queues and contenders, of which there
// may be many, are named by their parents but not visited.
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
  // Those that could not be read, and why. What has gone meanwhile is not among them.
  std::vector<std::pair<std::string, error_code>> unreadable;

  const children_result* find(const std::string& path) const {
    const auto at = nodes.find(path);
    return at == nodes.end() ? nullptr : &at->second;
  }
};

// Throws if the server cannot be reached.
node_tree read_tree(client& zk, const std::vector<std::string>& roots, const known_names& names);

}  // namespace conclave::cli
