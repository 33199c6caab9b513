// Rounds with kept locks (lock_options::keep_for). They run in the process of the benchmark,
// because a worker that records every acquisition would take longer than the acquisition.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "driver/results.hpp"

namespace conclave::bench {

// Threads acquire and release one kept lock, which no other process wants.
figures measure_kept_lock(const std::string& servers, const std::string& path, std::size_t threads,
                          std::chrono::milliseconds measured);
figures measure_std_mutex(std::size_t threads, std::chrono::milliseconds measured);

// latency_us is the time from the arrival of a contender at an idle kept lock to its grant: the
// time of its lock call without that of a lock call for a free lock.
figures measure_recall(const std::string& servers, const std::string& path);
// latency_us is the time from the release of a lock to the grant of a waiting contender.
figures measure_hand_off(const std::string& servers, const std::string& path);

}  // namespace conclave::bench
