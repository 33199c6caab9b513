// The paths of a queue's nodes, and the names of its items.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/node.hpp"
#include "conclave/queue_options.hpp"

namespace conclave::recipes {

struct item_name {
  std::string text;
  int priority;
  std::uint32_t number;  // the sequence number; after the overflow, it is 2^31 or more
};

// Determines the layout of a queue from the children of its path. `entries` has the children of the
// child `entries`, or is null if there is no such child. Returns nullopt if there are no items. See
// find_queue_layout().
std::optional<queue_layout> layout_of_queue(const std::vector<std::string>& children,
                                            const std::vector<std::string>* entries);

class queue_names {
 public:
  queue_names(std::string path, queue_layout l);

  queue_layout layout() const noexcept { return layout_; }

  // --- the items' folder

  const std::string& items() const noexcept { return items_; }
  // How many levels at the end of a folder's path belong to this queue alone: items_levels() for
  // items(), and folder_levels for every other folder.
  std::size_t items_levels() const noexcept { return claims_only() ? 2 : 1; }
  static constexpr std::size_t folder_levels = 2;
  // The data of an items' folder that Conclave creates. It shows that the folder is not a
  // container, which the server would remove. Empty in the layouts of libraries that create no
  // containers.
  std::string_view folder_data() const noexcept {
    return has_priorities() ? std::string_view{} : "persistent queue of Conclave";
  }
  // The parent of the consumers' identity nodes (folder_identity.hpp), a child of items(). It is
  // empty in the layouts of libraries that treat every child of items() as an item.
  std::string identities() const { return has_priorities() ? std::string{} : items_ + "/conclave"; }

  // --- the other folders. They are next to the queue, since other libraries treat every child of
  // the queue as an item.

  // The folders are in PATH.conclave, where PATH is the queue's path. There is one exception: in
  // the layout kazoo_locking, claims() is PATH/taken.
  static constexpr std::string_view internal_suffix = ".conclave";
  // The nodes that claim items.
  const std::string& claims() const noexcept { return claims_; }
  // The mode with which the folder claims() is created. It is persistent in the layout
  // kazoo_locking, because kazoo creates this folder once and needs it later.
  create_mode claims_mode() const noexcept {
    return layout_ == queue_layout::kazoo_locking ? create_mode::persistent
                                                  : create_mode::container;
  }
  // The counter nodes (counted_transactions.hpp).
  std::string consumers() const { return internal("consumers"); }
  std::string producers() const { return internal("producers"); }
  // The wait queues of consumers that wait for an item, and of producers that wait for capacity.
  std::string waiting_consumers() const { return internal("waiting"); }
  std::string waiting_producers() const { return internal("room"); }
  // Items that no consumer could complete.
  std::string set_aside() const { return internal("aside"); }
  // The path of an item that was set aside. The path contains the item's czxid, because item names
  // are reused if the queue's path is removed and created again.
  std::string set_aside_item(std::string_view name, std::int64_t czxid) const;

  // --- items

  std::string item(std::string_view name) const { return items_ + '/' + std::string{name}; }
  bool claims_only() const noexcept { return layout_ == queue_layout::kazoo_locking; }
  bool has_priorities() const noexcept { return layout_ != queue_layout::zookeeper; }
  // The path of an item up to the sequence number.
  std::string prefix(int priority) const;

  // Returns nullopt if this is not the name of an item.
  std::optional<item_name> parse(std::string_view name) const;
  // Returns true if one of the children is an item.
  bool has_item(const std::vector<std::string>& children) const;
  // Returns the children that are items, in the order of the queue.
  std::vector<item_name> in_order(const std::vector<std::string>& children) const;
  // Returns true if the children include items of a different layout and none of this layout.
  bool has_only_another_layout(const std::vector<std::string>& children) const;
  // The layout kazoo_locking keeps its items below a different node than the other layouts. Returns
  // the path of a node that may contain the items of a queue with a different layout, or an empty
  // string if there is none. `children` are the children of items(), and `exists` says whether
  // items() exists.
  std::string other_place_of_items(const std::vector<std::string>& children, bool exists) const;
  // Returns true if the queue has a different layout. `others` are the children of
  // other_place_of_items().
  bool is_elsewhere(const std::vector<std::string>& children,
                    const std::vector<std::string>& others) const;
  // Like parse() and in_order(), but for items that were set aside.
  std::optional<item_name> parse_set_aside(std::string_view name) const;
  std::vector<item_name> set_aside_in_order(const std::vector<std::string>& children) const;

 private:
  std::string internal(std::string_view folder) const {
    return internal_ + '/' + std::string{folder};
  }

  queue_layout layout_;
  std::string path_;
  std::string items_;
  std::string claims_;
  std::string internal_;  // contains the folders that other libraries do not know
};

}  // namespace conclave::recipes
