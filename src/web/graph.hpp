// The wait-for graph as JSON for the page: sessions, locks, who holds and who waits, deadlocks.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "conclave/wait_graph.hpp"

namespace conclave::web {

struct drawn_graph {
  std::string json;
  std::size_t deadlocks = 0, possible_deadlocks = 0;
  // "certain" or "possible", by the path of the lock.
  std::map<std::string, std::string> deadlocked_paths;
};

// Draws at most 40 locks, those with deadlocks first, and a few contenders of each.
drawn_graph draw_graph(const wait_graph& g, const std::vector<deadlock>& deadlocks);

}  // namespace conclave::web
