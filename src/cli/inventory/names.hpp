// Recognises recipes by the names of their nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/layout.hpp"

namespace conclave::cli {

struct named_layout {
  std::string name;
  layout names;
  bool election = false;
};

class known_names {
 public:
  // The built-in layouts, and the custom layout `extra` (the value of --layout) unless it is empty.
  explicit known_names(const std::string& extra = {});

  struct contender {
    const named_layout* of;
    layout::contender parsed;
  };
  std::optional<contender> parse(std::string_view name) const;

 private:
  std::vector<named_layout> all_;
};

// The parent record, in the data of a lock's path, begins with this.
inline constexpr std::string_view lock_record = "conclave 1 ";

// qn-N or entry-PPP-N.
bool is_queue_item(std::string_view name);

// The endings of nodes beside a recipe's path: the wait queues and counters of a queue, and the
// wait queue of kazoo's semaphore.
inline constexpr std::string_view beside_queue = ".conclave";
inline constexpr std::string_view beside_semaphore = "-__lock__";
// The paths, and the nodes that can exist beside them.
std::vector<std::string> with_neighbours(const std::vector<std::string>& paths);
// The path that this node is beside. Returns nothing for other nodes.
std::optional<std::string> neighbour(std::string_view path, std::string_view ending);

std::string child_path(const std::string& parent, std::string_view name);
std::string parent_path(const std::string& path);
std::string_view last_name(std::string_view path);

}  // namespace conclave::cli
