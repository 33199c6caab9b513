// Runs workers, and other programs around them, to their end.
#pragma once

#include <string>
#include <vector>

#include "worker.hpp"

namespace conclave::bench {

// Standard output and standard error of a command that must succeed. Throws std::runtime_error
// with that output if it does not, or takes too long.
std::string output_of(const std::vector<std::string>& command);

// `under` stands before the worker's command: a tracer or a profiler with its options.
std::string run_worker_process(const assignment& a, std::vector<std::string> under = {});

figures measure(const assignment& a);

}  // namespace conclave::bench
