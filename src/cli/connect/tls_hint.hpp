// For a connection that cannot be made: whether one side speaks TLS and the other does not.
#pragma once

#include <string>

#include "cli/connect/connect_flags.hpp"

namespace conclave::cli {

// Asks the servers, for a second at most and as long as the system's resolver takes. Empty if that
// is not the reason.
std::string tls_hint(const server_address& at);

}  // namespace conclave::cli
