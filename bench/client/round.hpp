// Runs workers to their end.
#pragma once

#include <string>
#include <vector>

#include "worker.hpp"

namespace conclave::bench {

// What it printed. `under` stands before the worker's command: a tracer or a profiler with its
// options.
std::string run_worker_process(const assignment& a, std::vector<std::string> under = {});

figures measure(const assignment& a);

}  // namespace conclave::bench
