// A queue item.
#pragma once

#include <string>

namespace conclave {

// Priorities range from 0 to 999. Lower numbers come first.
inline constexpr int default_priority = 100;

struct queue_item {
  std::string name;  // the name of the item's node
  std::string data;
  int priority = default_priority;
};

}  // namespace conclave
