// Checks that need a session: its timeout, the speed and the clock of the server, and permissions.
#pragma once

#include "cli/connect/connection.hpp"
#include "cli/doctor/checkup.hpp"

namespace conclave::cli {

// bound: the server sees the end of processes, so the timeout does not matter.
void check_timeout(checkup& to, connection& c, bool bound);
void check_round_trip(checkup& to, client& zk);
// Creates and removes a node. Also compares the clocks.
void check_write(checkup& to, client& zk);
void check_access(checkup& to, connection& c);

}  // namespace conclave::cli
