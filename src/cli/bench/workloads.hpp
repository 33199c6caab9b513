// What `conclave bench` does to a server. Each works below a folder of its own, as long as its
// stretch lasts.
#pragma once

#include <string>

#include "cli/bench/measured.hpp"
#include "cli/connect/connect_flags.hpp"
#include "conclave/client.hpp"

namespace conclave::cli {

inline constexpr std::size_t bench_clients = 4;
inline constexpr std::size_t bench_window = 256;

// A lock that nobody else wants: locked and unlocked.
measured bench_lock(client& zk, const std::string& folder, const stretch& t);
// A lock that several clients want all the time: from one's unlock() to the next one's lock().
measured bench_hand_off(const server_address& at, const std::string& folder, const stretch& t);
// Ephemeral nodes, so that nothing stays behind whatever happens to us.
measured bench_creates(client& zk, const std::string& folder, const stretch& t);
measured bench_gets(client& zk, const std::string& folder, const stretch& t);
// An item pushed and popped.
measured bench_queue(client& zk, const std::string& folder, const stretch& t);

}  // namespace conclave::cli
