// Recognises recipes by the names of their nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/layout.hpp"
#include "recipes/queue/names.hpp"

namespace conclave::client_impl {

class known_layouts {
 public:
  // Contains `extra` and layout::known().
  explicit known_layouts(std::vector<layout> extra = {});

  struct contender {
    const layout* of;
    layout::contender parsed;
  };
  // Returns nullopt if this is not the name of a contender.
  std::optional<contender> parse(std::string_view name) const;

 private:
  std::vector<layout> all_;
};

// Returns true if this is the name of a queue's item, in any layout.
bool is_queue_item(std::string_view name);

// Returns true if the server may have appended a sequence number to this name.
bool is_sequential(std::string_view name);

// Returns true for the folders in which semaphores and kazoo's LockingQueue keep their nodes.
bool is_folder_of_recipe(std::string_view name);

// The suffixes of the sibling nodes of a recipe's path. These nodes contain the wait queues and
// counters of a queue, or the wait queue of kazoo's semaphore.
inline constexpr std::string_view queue_sibling_suffix = recipes::queue_names::internal_suffix;
inline constexpr std::string_view semaphore_sibling_suffix = "-__lock__";
// If `path` is a sibling node with this suffix, returns the path of its recipe. Otherwise returns
// nullopt.
std::optional<std::string> recipe_of_sibling(std::string_view path, std::string_view suffix);

// Returns the node names for the queue at this path, which may be "/".
recipes::queue_names names_of_queue(const std::string& path, queue_layout l);

std::string child_path(const std::string& parent, std::string_view name);
std::string parent_path(const std::string& path);
std::string_view last_name(std::string_view path);

}  // namespace conclave::client_impl
