// What only a session shows: its timeout, how fast the server is, its clock, who may do what.
#pragma once

#include "cli/connect/connection.hpp"
#include "cli/doctor/checkup.hpp"

namespace conclave::cli {

// bound: the server sees the death of processes, and needs no time for it.
void check_timeout(checkup& to, connection& c, bool bound);
void check_round_trip(checkup& to, client& zk);
// Creates and removes a node of its own; also compares the clocks.
void check_write(checkup& to, client& zk);
void check_access(checkup& to, connection& c);

}  // namespace conclave::cli
