// The system calls and instructions of one operation, counted in workers under strace and
// callgrind.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "driver/driver.hpp"
#include "workload.hpp"

namespace conclave::bench {

struct traced_cost {
  workload what{workload::creates};
  std::string variant;
  double system_calls{0};                 // per operation
  std::map<std::string, double> by_name;  // the same, for each system call
  double instructions{0};                 // per operation, all threads, user mode
};

std::vector<traced_cost> trace_costs(client_rounds& rounds, std::size_t window,
                                     progress_display& progress);

}  // namespace conclave::bench
