// Histories of a queue: producers and consumers over lost connections, on a server that crashes. In
// the end every pushed item has been delivered once.
#pragma once

#include <vector>

#include "simulation/histories/history.hpp"

namespace conclave::simulated {

std::vector<workload> queue_workloads();

}  // namespace conclave::simulated
