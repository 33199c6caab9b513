// What a process does in one step of a series, with n of one thing: n locks, n items, n sessions.
//
// Each function connects, measures, and returns the figures of step_figures.hpp. Each needs a
// server without data.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>

#include "driver/results.hpp"

namespace conclave::bench {

struct step_task {
  std::string workload;  // the name of one of `workloads`
  std::string servers;   // one server: "127.0.0.1:PORT"
  pid_t server{0};
  std::size_t count{0};  // n
};

struct workload {
  const char* name;
  const char* title;
  figures (*run)(const step_task&);
};

figures run_locks_held(const step_task& task);
figures run_long_holds(const step_task& task);
figures run_locks_waited_for(const step_task& task);
figures run_readers_behind_writer(const step_task& task);
figures run_shared_holds(const step_task& task);
figures run_writers(const step_task& task);
figures run_permits(const step_task& task);
figures run_candidates(const step_task& task);
figures run_observers(const step_task& task);
figures run_multi_paths(const step_task& task);

figures run_queue_items(const step_task& task);
figures run_queue_items_of_four(const step_task& task);
figures run_consumers(const step_task& task);
figures run_consumers_of_one_session(const step_task& task);
figures run_idle_consumers(const step_task& task);

figures run_sessions(const step_task& task);
figures run_watches(const step_task& task);
figures run_nodes(const step_task& task);

std::span<const workload> all_workloads();

// Throws std::runtime_error if there is no such workload, or if it fails or exceeds its time limit.
figures run_workload(const step_task& task);

}  // namespace conclave::bench
