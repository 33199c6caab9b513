#include "workloads.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace conclave::bench {
namespace {

constexpr auto list = std::to_array<workload>({
    {"locks-held", "locks, each acquired and released", run_locks_held},
    {"locks-waited-for", "waiters of one lock, each granted it once", run_locks_waited_for},
    {"readers", "readers behind a writer", run_readers_behind_writer},
    {"shared-holds", "shared holds of one object", run_shared_holds},
    {"writers", "writers of a shared_mutex, each granted it once", run_writers},
    {"permits", "permits of a semaphore", run_permits},
    {"candidates", "candidates of an election, each leads once", run_candidates},
    {"observers", "observers of an election", run_observers},
    {"multi-paths", "paths of one multi_mutex", run_multi_paths},
    {"queue-items", "items of a queue with one consumer", run_queue_items},
    {"queue-items-4", "items of a queue with four consumers", run_queue_items_of_four},
    {"consumers", "consumers with a session each, as many items", run_consumers},
    {"consumers-of-one-session", "consumers of one session, as many items",
     run_consumers_of_one_session},
    {"idle-consumers", "consumers that wait for an item", run_idle_consumers},
    {"sessions", "sessions", run_sessions},
    {"watches", "watches, each fired once", run_watches},
    {"nodes", "nodes", run_nodes},
    {"long-holds", "held locks beside holds of 150 ms", run_long_holds},
});

}  // namespace

std::span<const workload> all_workloads() { return list; }

figures run_workload(const step_task& task) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const workload& w) { return task.workload == w.name; });
  if (found == list.end()) throw std::runtime_error("no workload '" + task.workload + "'");
  return found->run(task);
}

}  // namespace conclave::bench
