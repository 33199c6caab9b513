// Runs programs to their end.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace conclave::bench {

// The path of the running benchmark, to start workers with.
std::string this_program();

// Standard output and standard error of a command that must succeed. Throws std::runtime_error
// with that output if it does not, or takes too long.
std::string output_of(const std::vector<std::string>& command, std::chrono::seconds limit);

}  // namespace conclave::bench
