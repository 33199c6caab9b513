// Where a queue keeps what, and how its items' names are read.
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
  std::uint32_t number;  // below 2^31, and behind that what has run over
};

class queue_names {
 public:
  queue_names(std::string path, queue_layout l);

  const std::string& items() const noexcept { return items_; }
  // Nodes of the queue's own, from the top of those down to items(), and down to any other folder.
  std::size_t items_levels() const noexcept { return claims_only() ? 2 : 1; }
  static constexpr std::size_t folder_levels = 2;
  // Marks of claims.
  const std::string& taken() const noexcept { return taken_; }
  // kazoo makes its folder once and relies on it.
  create_mode taken_mode() const noexcept {
    return layout_ == queue_layout::kazoo_locking ? create_mode::persistent
                                                  : create_mode::container;
  }
  // Beside the queue rather than in it: other libraries take every child for an item.
  std::string beside(std::string_view what) const { return beside_ + '/' + std::string{what}; }

  // Written into a folder of items that Conclave creates: it is no container, so the server never
  // removes it. Empty where that need not be known, since no other library creates containers.
  std::string_view folder_data() const noexcept {
    return has_priorities() ? std::string_view{} : "persistent queue of Conclave";
  }
  // A child of the folder of the items that is no item, for what must not outlive the folder.
  // Empty in layouts whose other libraries take every child for an item.
  std::string inside() const { return has_priorities() ? std::string{} : items_ + "/conclave"; }

  std::string item(std::string_view name) const { return items_ + '/' + std::string{name}; }
  // Where an item is put that nobody could complete. Its name comes back if the queue's path is
  // made again: with its czxid it does not.
  std::string aside(std::string_view name, std::int64_t czxid) const;
  bool claims_only() const noexcept { return layout_ == queue_layout::kazoo_locking; }
  bool has_priorities() const noexcept { return layout_ != queue_layout::zookeeper; }
  // Of an item's path, up to the number.
  std::string prefix(int priority) const;

  // None if it is not an item's name.
  std::optional<item_name> parse(std::string_view name) const;
  // Those that are items, in the queue's order.
  std::vector<item_name> in_order(const std::vector<std::string>& children) const;
  // There is none of its items, but there is one of another layout.
  bool of_another_layout(const std::vector<std::string>& children) const;
  // As well, of those that were put aside.
  std::optional<item_name> parse_aside(std::string_view name) const;
  std::vector<item_name> aside_in_order(const std::vector<std::string>& children) const;

 private:
  queue_layout layout_;
  std::string items_;
  std::string taken_;
  std::string beside_;
};

}  // namespace conclave::recipes
