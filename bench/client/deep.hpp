// What one operation costs the client in system calls and instructions, found by running workers
// under strace and callgrind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/progress.hpp"
#include "nodes.hpp"
#include "workload.hpp"

namespace conclave::bench {

struct deep_cost {
  kind what{kind::creates};
  std::string contestant;
  double system_calls{0};                 // per operation
  std::map<std::string, double> by_name;  // the same, for each system call
  double instructions{0};                 // per operation, all threads, user mode
};

std::vector<deep_cost> measure_deep(const std::string& servers, std::size_t window, nodes& tree,
                                    progress_display& progress);

}  // namespace conclave::bench
