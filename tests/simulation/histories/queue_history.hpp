// Histories of a queue. Connections of producers and consumers are lost, and the server crashes. At
// the end, every pushed item must have been delivered exactly once.
#pragma once

#include <vector>

#include "simulation/histories/history.hpp"

namespace conclave::simulated {

std::vector<workload> queue_workloads();

}  // namespace conclave::simulated
