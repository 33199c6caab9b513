// The same workloads with other libraries, as far as these have the recipes.
#pragma once

#include <cstddef>
#include <string>

#include "driver/results.hpp"
#include "support/zookeeper_server.hpp"

namespace conclave::bench {

namespace variant {
inline constexpr const char* curator = "Curator";
inline constexpr const char* kazoo = "kazoo";
}  // namespace variant

bool is_workload_of_peers(const std::string& workload);

// Runs the workload in a new process of Curator or kazoo. Throws std::runtime_error if it fails or
// takes longer than a minute.
figures measure_peer(const std::string& variant, const std::string& workload,
                     const testing::zookeeper_server& server, std::size_t n);

}  // namespace conclave::bench
