// Workloads on the ensemble model, and their figures.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "simulation/ensemble/ensemble.hpp"

namespace conclave::simulated {

struct workload_figures {
  std::size_t operations = 0;
  std::chrono::nanoseconds time{0};    // virtual time of all operations
  std::chrono::nanoseconds median{0};  // of the latency
  std::chrono::nanoseconds p99{0};     // of the latency
  std::vector<server_load> servers;    // load during the operations; the leader is first
  // Latency of the clients of the last server, which may lag.
  std::chrono::nanoseconds median_at_last_server{0};

  double per_second() const;
  // The share of a core, or of the time of a disk, that the server needed.
  double cpu_share(std::size_t server) const;
  double disk_share(std::size_t server) const;
};

// Every client acquires one lock and releases it, again and again. The latency is the time from the
// release to the grant of the next client.
workload_figures run_contended_lock(const ensemble_options& o, std::size_t clients,
                                    std::size_t operations);
// Every client acquires and releases its own lock, again and again. The latency is the time from
// the call to the grant.
workload_figures run_own_locks(const ensemble_options& o, std::size_t clients,
                               std::size_t operations);
// Every client reads a node, again and again. The latency is the time from the call to the reply.
workload_figures run_reads(const ensemble_options& o, std::size_t clients, std::size_t operations);
// Clients that only keep their session alive, with a session timeout of 30 s.
workload_figures run_idle_sessions(const ensemble_options& o, std::size_t clients);

}  // namespace conclave::simulated
