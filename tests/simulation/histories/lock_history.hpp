// Histories of locks and elections. Users lock, lock again, downgrade, write, unlock and give up.
// Connections are lost, the server crashes, and somebody overwrites and deletes nodes by hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulation/histories/history.hpp"

namespace conclave::simulated {

std::vector<workload> lock_workloads();

// For the workload `together`: all combinations of two kinds of locks on one path, a layout and a
// fault while both contend. The tally contains the combinations that occurred, with this prefix.
inline constexpr std::string_view combination_prefix = "met ";
std::vector<std::string> lock_combinations();

}  // namespace conclave::simulated
