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

// The suffixes of sibling nodes of a recipe's path: the wait queues and counters of a queue, and
// the wait queue of kazoo's semaphore.
inline constexpr std::string_view queue_sibling_suffix = ".conclave";
inline constexpr std::string_view semaphore_sibling_suffix = "-__lock__";
// The paths, and all siblings that they can have.
std::vector<std::string> with_siblings(const std::vector<std::string>& paths);
// The recipe path whose sibling with this suffix `path` is. Returns nothing for other nodes.
std::optional<std::string> sibling_owner(std::string_view path, std::string_view ending);

std::string child_path(const std::string& parent, std::string_view name);
std::string parent_path(const std::string& path);
std::string_view last_name(std::string_view path);

}  // namespace conclave::cli
