// A process that runs one round of one contestant.
//
// See harness/figures.hpp for the reason and for what it prints.
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

}  // namespace conclave::bench
