// Sends ZooKeeper's four-letter words ("srvr", "ruok", "mntr", ...), each on a new connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace conclave::testing {

// Returns the reply, or an empty string on timeout.
std::string ask_server(std::uint16_t port, std::string_view word,
                       std::chrono::milliseconds timeout = std::chrono::seconds(2));

// "standalone", "leader", "follower", "observer" or "read-only"; empty while the server does not
// serve.
std::string server_mode(std::uint16_t port,
                        std::chrono::milliseconds timeout = std::chrono::seconds(2));

}  // namespace conclave::testing
