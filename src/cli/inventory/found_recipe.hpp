// Assigns the nodes of a tree to recipes by their names. The data of the nodes are read afterwards,
// in one go.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/inventory/inventory.hpp"

namespace conclave::cli {

// A participant whose node name is known and whose data are still to be read.
struct unread_participant {
  participant who;
  std::int32_t number = 0;
  // Accept it only if its data are of this library: another program's node may not be a lock.
  bool only_from_this_library = false;
  bool exists = true;
};

struct found_recipe {
  recipe r;
  std::vector<unread_participant>
      holders;  // for a semaphore or a queue, which have a folder for holders
  std::vector<unread_participant> wait_queue;  // for all others, where the order shows the holders
  bool needs_data = false;                     // the data of the path must be read to know more
};

std::vector<found_recipe> find_recipes(const node_tree& tree, const known_names& names,
                                       bool include_unused);

}  // namespace conclave::cli
