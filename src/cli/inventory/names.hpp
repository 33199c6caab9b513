// What the names of nodes tell about the recipes they belong to.
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
  // Those that Conclave knows, and one more if `extra` is not empty (as --layout says it).
  explicit known_names(const std::string& extra = {});

  struct contender {
    const named_layout* of;
    layout::contender parsed;
  };
  std::optional<contender> parse(std::string_view name) const;

 private:
  std::vector<named_layout> all_;
};

// The data of a lock's path begin with this.
inline constexpr std::string_view lock_record = "conclave 1 ";

// qn-N, entry-PPP-N.
bool is_queue_item(std::string_view name);

// What stands beside a recipe's path rather than in it: the lines and counters of a queue, and the
// line of a semaphore of kazoo's.
inline constexpr std::string_view beside_queue = ".conclave";
inline constexpr std::string_view beside_semaphore = "-__lock__";
// The paths, and what may stand beside them.
std::vector<std::string> with_neighbours(const std::vector<std::string>& paths);
// The path beside which it stands; none if it is another node.
std::optional<std::string> neighbour(std::string_view path, std::string_view ending);

std::string child_path(const std::string& parent, std::string_view name);
std::string parent_path(const std::string& path);
std::string_view last_name(std::string_view path);

}  // namespace conclave::cli
