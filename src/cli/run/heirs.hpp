// What programs that we start get from us: the connection, and words about what is held.
//
// On a server that sees processes the session lives as long as somebody has the connection, so what
// is held stays held until the last of the program's tree has gone, with or without us.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/connect/connect_flags.hpp"
#include "conclave/hold.hpp"

namespace conclave::cli {

// The server, by a connection that programs inherit.
server_address server_for_heirs(const connect_flags& f);

// CONCLAVE_LOCK_NODE, CONCLAVE_FENCING_TOKEN and CONCLAVE_SESSION_ID.
std::vector<std::pair<std::string, std::string>> environment_of(const hold& held);

// Ends the program, as its code says, but not its session: that is the heirs' now.
[[noreturn]] void leave_session_to_heirs(int code);

}  // namespace conclave::cli
