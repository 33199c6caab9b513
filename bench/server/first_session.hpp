// How long it takes from the start of a server's process, on an empty data folder, to the first
// session that a client has with it.
#pragma once

#include <string>
#include <vector>

#include "harness/figures.hpp"
#include "support/zookeeper_server.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* start_ms = "start_to_first_session_ms";
}

// The client connects when the server says that it is ready.
figures start_ours(const std::vector<std::string>& command);

// It says nothing of the kind, and leaves clients that come too early waiting for seconds, so it is
// asked for its mode every millisecond, and the client connects once it tells. The server must have
// been killed; it is again afterwards. Its data is removed.
figures start_apache(testing::zookeeper_server& server);

}  // namespace conclave::bench
