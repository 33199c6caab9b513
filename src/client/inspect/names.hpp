// Recognises recipes by the names of their nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/layout.hpp"
#include "recipes/queue/names.hpp"

namespace conclave::detail {

struct named_layout {
  std::string name;  // as recipe_info::layout
  layout names;
  bool election = false;
};

class known_layouts {
 public:
  // The layouts that Conclave knows, and these.
  explicit known_layouts(const std::vector<layout>& extra = {});

  struct contender {
    const named_layout* of;
    layout::contender parsed;
  };
  // Returns none if this is not the name of a contender.
  std::optional<contender> parse(std::string_view name) const;

 private:
  std::vector<named_layout> all_;
};

// Whether this is the name of a queue's item, in any layout.
bool is_queue_item(std::string_view name);

// The suffixes of nodes beside a recipe's path: the wait queues and counters of a queue, and the
// wait queue of kazoo's semaphore.
inline constexpr std::string_view beside_queue = recipes::queue_names::internal_suffix;
inline constexpr std::string_view beside_semaphore = "-__lock__";
// The path that this node is beside. Returns none for other nodes.
std::optional<std::string> neighbour(std::string_view path, std::string_view suffix);

// The names of the queue at this path, which may be "/".
recipes::queue_names names_of_queue(const std::string& path, queue_layout l);

std::string child_path(const std::string& parent, std::string_view name);
std::string parent_path(const std::string& path);
std::string_view last_name(std::string_view path);

}  // namespace conclave::detail
