// Which nodes of a tree belong to which recipe, as far as names tell. What stands in them is read
// afterwards, all of it together.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/inventory/inventory.hpp"

namespace conclave::cli {

// One who has been named, and whose node is to be read.
struct expected {
  participant who;
  std::int32_t number = 0;
  bool only_if_ours = false;  // known by its data: nobody else's word may be taken for a lock
  bool there = true;
};

struct found_recipe {
  recipe r;
  std::vector<expected> holders;  // of a semaphore or a queue, where a place of their own tells
  std::vector<expected> line;     // of everybody else, where the order does
  bool data_tell = false;         // the path's own data must be read to know more
};

std::vector<found_recipe> find_recipes(const node_tree& tree, const known_names& names,
                                       bool unused_too);

}  // namespace conclave::cli
