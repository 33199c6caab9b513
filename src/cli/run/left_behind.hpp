// The environment of programs that run during a hold, and the end of conclave when they leave
// background processes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "conclave/hold.hpp"

namespace conclave::cli {

// CONCLAVE_LOCK_NODE, CONCLAVE_FENCING_TOKEN and CONCLAVE_SESSION_ID.
std::vector<std::pair<std::string, std::string>> environment_of(const hold& held);

// Ends the program with `code`, but neither its session nor its guard. Both belong to the
// background processes now.
[[noreturn]] void leave_session(int code);

}  // namespace conclave::cli
