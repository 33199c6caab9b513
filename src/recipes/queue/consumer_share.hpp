// Selects the items that one of several active consumers acquires.
//
// Active consumers divide the items by sequence number, so that they do not compete for every item.
// A consumer does so only while the other consumers make progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/queue/names.hpp"

namespace conclave::recipes {

class consumer_share {
 public:
  // Begins to divide the items. Returns false if they are already divided.
  bool begin();

  // Returns the items that this consumer acquires, in the order of the queue. `consumers` are the
  // names of the counter nodes, or empty if they were not listed. Returns all items
  // - if they are not divided,
  // - if `consumers` does not contain both `own_name` and at least one other name,
  // - if the other consumers make no progress, which also ends the division,
  // - if the share is empty and `never_empty` is true.
  std::vector<item_name> select(std::vector<item_name> items, std::vector<std::string> consumers,
                                const std::string& own_name, bool never_empty);

 private:
  bool is_active_ = false;
  // Results of the last selection: the lowest number of our share, the highest number of all items,
  // and the number of items outside our share.
  std::uint32_t own_lowest_ = 0;
  std::uint32_t highest_ = 0;
  std::size_t foreign_ = 0;
};

}  // namespace conclave::recipes
