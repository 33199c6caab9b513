// The workloads of the ensemble model, on three real Apache ZooKeeper servers on this machine.
#pragma once

#include <chrono>
#include <cstddef>

#include "driver/results.hpp"
#include "support/zookeeper_ensemble.hpp"

namespace conclave::bench {

// Each function uses `clients` sessions in this process for the given time. Returns
// operations_per_second, latency_us and latency_p99_us. The workloads and their latencies are those
// of simulation/ensemble/ensemble_workloads.hpp.
figures measure_reads(const testing::zookeeper_ensemble& servers, std::size_t clients,
                      std::chrono::milliseconds time);
figures measure_own_locks(const testing::zookeeper_ensemble& servers, std::size_t clients,
                          std::chrono::milliseconds time);
figures measure_contended_lock(const testing::zookeeper_ensemble& servers, std::size_t clients,
                               std::chrono::milliseconds time);

}  // namespace conclave::bench
