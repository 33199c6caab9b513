// The checks of `conclave doctor` that need several hosts or a session.
#pragma once

#include <vector>

#include "cli/connect/connection.hpp"
#include "cli/doctor/checkup.hpp"
#include "cli/doctor/host_facts.hpp"

namespace conclave::cli {

// Checks whether the servers of the connect string form one complete ensemble.
void check_ensemble(checkup& report, const std::vector<host_facts>& hosts);

// The following checks need a session. They check the session timeout, the speed and the clock of
// the server, and permissions.
//
// Checks the session timeout. If `bound_to_processes` is true, the server notices when a process
// exits, so the timeout does not matter.
void check_timeout(checkup& report, connection& c, bool bound_to_processes);
void check_round_trip(checkup& report, client& zk);
// Creates and removes a node. Also compares the clocks of client and server.
void check_write(checkup& report, client& zk);
void check_access(checkup& report, connection& c);

}  // namespace conclave::cli
