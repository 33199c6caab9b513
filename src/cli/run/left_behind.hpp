// What programs that run while something is held get from us, and what becomes of it when they
// leave something behind.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "conclave/hold.hpp"

namespace conclave::cli {

// CONCLAVE_LOCK_NODE, CONCLAVE_FENCING_TOKEN and CONCLAVE_SESSION_ID.
std::vector<std::pair<std::string, std::string>> environment_of(const hold& held);

// Ends the program, as its code says, but neither its session nor its guard: both belong to the
// processes that the program has left behind.
[[noreturn]] void leave_session(int code);

}  // namespace conclave::cli
