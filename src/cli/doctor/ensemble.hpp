// Checks whether the servers of the connect string form one complete ensemble.
#pragma once

#include <vector>

#include "cli/doctor/checkup.hpp"
#include "cli/doctor/host_facts.hpp"

namespace conclave::cli {

void check_ensemble(checkup& to, const std::vector<host_facts>& hosts);

}  // namespace conclave::cli
