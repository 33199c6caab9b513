// A process that runs one round of one contestant.
//
// Each round has a process of its own, so that the CPU time it takes is the contestant's alone and
// neither client finds the other's threads or heap. The round's figures come as lines of standard
// output: "figure NAME VALUE".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workload.hpp"

namespace conclave::bench {

struct assignment {
  std::string contestant;
  std::string servers;
  round_plan plan;
  std::optional<int> cpu;  // run on this core only
};

inline constexpr const char* worker_option = "--worker";

// The command line after the program's name, and back.
std::vector<std::string> to_arguments(const assignment& a);
assignment from_arguments(std::span<const std::string> arguments);

void run_worker(const assignment& a);

// The figures in a worker's output; throws std::runtime_error, with the output, if there are none.
figures figures_in(const std::string& output);

}  // namespace conclave::bench
