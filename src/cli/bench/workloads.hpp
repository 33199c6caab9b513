// The workloads of `conclave bench`. Each workload uses its own paths below `folder` and runs for
// the given time.
#pragma once

#include <string>

#include "cli/bench/bench_result.hpp"
#include "cli/connect/connect_flags.hpp"
#include "conclave/client.hpp"

namespace conclave::cli {

inline constexpr std::size_t bench_clients = 4;
inline constexpr std::size_t bench_window = 256;

// Acquires and releases a lock without contention.
bench_result bench_lock(client& zk, const std::string& folder, const measurement_period& t);
// Several clients contend for one lock. Measures the time from unlock() in one client until lock()
// returns in the next client.
bench_result bench_hand_off(const server_address& at, const std::string& folder,
                            const measurement_period& t);
// Creates ephemeral nodes, so that no node remains if the program is killed.
bench_result bench_creates(client& zk, const std::string& folder, const measurement_period& t);
bench_result bench_gets(client& zk, const std::string& folder, const measurement_period& t);
// Pushes one item and pops it.
bench_result bench_queue(client& zk, const std::string& folder, const measurement_period& t);

}  // namespace conclave::cli
