// Histories of locks and elections: users that lock, hold, lock again, downgrade, write, unlock and
// give up, over links that break, on a server that crashes, while others write to their nodes and
// delete them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulation/histories/history.hpp"

namespace conclave::simulated {

std::vector<workload> lock_workloads();

// Of the workload `together`: two kinds of lock on one path, a layout and a fault that comes while
// both contend. Its tally has those that happened, and this is all that can.
inline constexpr std::string_view met = "met ";
std::vector<std::string> lock_combinations();

}  // namespace conclave::simulated
