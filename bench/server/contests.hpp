// Starts the servers, and lets them take turns.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/environment.hpp"
#include "harness/progress.hpp"
#include "options.hpp"
#include "series.hpp"

namespace conclave::bench {

// Against Apache ZooKeeper, both durable: load on servers that run on.
std::vector<series> compete_under_load(const options& wanted, const std::filesystem::path& sockets,
                                       progress_display& progress);

// Against Apache ZooKeeper, both durable: fresh servers each time.
std::vector<series> compete_from_start(const options& wanted, progress_display& progress);

// Against Redis, neither durable, client and server on one core. `sockets` is a folder for them.
std::vector<series> compete_with_redis(const options& wanted, const std::filesystem::path& sockets,
                                       progress_display& progress);

}  // namespace conclave::bench
