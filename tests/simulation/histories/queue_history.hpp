// Histories of a queue: producers and consumers over links that break, on a server that crashes. In
// the end what was pushed is what was delivered, once.
#pragma once

#include <vector>

#include "simulation/histories/history.hpp"

namespace conclave::simulated {

std::vector<workload> queue_workloads();

}  // namespace conclave::simulated
