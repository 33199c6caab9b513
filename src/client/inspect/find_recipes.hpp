// Assigns the nodes of a tree to recipes by their names. The data of the nodes are read afterwards,
// in one go.
#pragma once

#include <vector>

#include "client/inspect/tree.hpp"
#include "client/inspect/wait_queue.hpp"

namespace conclave::detail {

struct found_recipe {
  recipe_info info;
  // For a semaphore or a queue, which have a folder for the nodes of holders.
  std::vector<listed_contender> holders;
  // For all others, where the order shows the holders.
  std::vector<listed_contender> wait_queue;
  bool needs_path_data = false;  // the data of the path must be read to know more
  bool kind_is_certain = true;   // by the names of the nodes
};

std::vector<found_recipe> find_recipes(const node_tree& tree, const known_layouts& layouts,
                                       bool include_unused);

}  // namespace conclave::detail
