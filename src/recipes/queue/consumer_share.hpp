// Selects the items that one of several active consumers acquires.
//
// Active consumers divide the items by sequence number, so that they do not compete for every item.
// A consumer leaves items to other consumers only while they make progress.
//
// A short queue with many consumers is called contended; see is_contended(). Each consumer of a
// contended queue acquires random items, because listing all consumers would cost more than failed
// attempts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/queue/names.hpp"

namespace conclave::recipes {

class consumer_share {
 public:
  // Must be called if another consumer has acquired an item that this one tried to acquire. Begins
  // to divide the items. Returns false if they are already divided.
  bool begin();
  bool is_active() const noexcept { return is_active_; }
  static bool is_contended(std::size_t consumers, std::size_t items) noexcept;

  // The part of the items that a consumer acquires.
  enum class part { all_in_order, share_in_order, all_in_random_order };
  struct selection {
    std::vector<item_name> items;  // in the order of the queue
    part acquires = part::all_in_order;
  };
  // Returns the items that this consumer acquires. `consumers` are the names of the counter nodes.
  // Returns all items in the order of the queue in any of these cases:
  // - The items are not divided.
  // - `consumers` does not contain both `own_name` and another name.
  // - The other consumers make no progress. This also ends the division.
  // Otherwise, returns all items in random order if the share is empty.
  selection select(std::vector<item_name> items, std::vector<std::string> consumers,
                   const std::string& own_name);
  // Like select(), but for a contended queue. Returns all items, normally in random order. If
  // begin() was not called since the last selection, ends the division and returns all items in the
  // order of the queue.
  selection select_at_random(std::vector<item_name> items);

 private:
  bool is_active_ = false;
  bool met_others_ = false;  // since the last selection
  // Results of the last selection: the lowest number of our share, the highest number of all items,
  // and the number of items outside our share.
  std::uint32_t own_lowest_ = 0;
  std::uint32_t highest_ = 0;
  std::size_t foreign_ = 0;
};

}  // namespace conclave::recipes
