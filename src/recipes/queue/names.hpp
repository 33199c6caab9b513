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
  std::uint32_t number;  // the sequence number; numbers after the overflow are 2^31 or more
};

class queue_names {
 public:
  queue_names(std::string path, queue_layout l);

  const std::string& items() const noexcept { return items_; }
  // How many levels at the end of a path belong to the queue: items_levels() for items(), and
  // folder_levels for any other folder.
  std::size_t items_levels() const noexcept { return claims_only() ? 2 : 1; }
  static constexpr std::size_t folder_levels = 2;
  // The folder of the nodes that claim items.
  const std::string& taken() const noexcept { return taken_; }
  // kazoo creates this folder once and expects that it stays.
  create_mode taken_mode() const noexcept {
    return layout_ == queue_layout::kazoo_locking ? create_mode::persistent
                                                  : create_mode::container;
  }
  // A path next to the queue, not inside it: other libraries treat every child of the queue as an
  // item.
  std::string beside(std::string_view what) const { return beside_ + '/' + std::string{what}; }

  // The data of an items' folder that Conclave creates. It shows that the folder is not a
  // container, which the server would remove. Empty in layouts whose other libraries create no
  // containers.
  std::string_view folder_data() const noexcept {
    return has_priorities() ? std::string_view{} : "persistent queue of Conclave";
  }
  // A child of the items' folder that is not an item, for nodes that must not outlive the folder.
  // Empty in layouts whose other libraries treat every child as an item.
  std::string inside() const { return has_priorities() ? std::string{} : items_ + "/conclave"; }

  std::string item(std::string_view name) const { return items_ + '/' + std::string{name}; }
  // The path for an item that no consumer could complete. If the queue's path is created again,
  // item names are used again. So the path contains the czxid.
  std::string aside(std::string_view name, std::int64_t czxid) const;
  bool claims_only() const noexcept { return layout_ == queue_layout::kazoo_locking; }
  bool has_priorities() const noexcept { return layout_ != queue_layout::zookeeper; }
  // The path of an item up to the sequence number.
  std::string prefix(int priority) const;

  // Returns none if this is not the name of an item.
  std::optional<item_name> parse(std::string_view name) const;
  // Returns the children that are items, in the order of the queue.
  std::vector<item_name> in_order(const std::vector<std::string>& children) const;
  // Whether the children include no items of this layout, but items of another one.
  bool of_another_layout(const std::vector<std::string>& children) const;
  // As parse() and in_order(), for items that were set aside.
  std::optional<item_name> parse_aside(std::string_view name) const;
  std::vector<item_name> aside_in_order(const std::vector<std::string>& children) const;

 private:
  queue_layout layout_;
  std::string items_;
  std::string taken_;
  std::string beside_;
};

}  // namespace conclave::recipes
