// Histories of locks and elections: users that lock, hold, lock again, downgrade, write, unlock and
// give up, over links that break, on a server that crashes, while others write to their nodes and
// delete them.
#pragma once

#include <vector>

#include "simulation/histories/history.hpp"

namespace conclave::simulated {

std::vector<workload> lock_workloads();

}  // namespace conclave::simulated
