// Explains a failed connection: one side uses TLS and the other does not.
#pragma once

#include <string>

#include "cli/connect/connect_flags.hpp"

namespace conclave::cli {

// Contacts the servers for at most one second, plus the time of the system's resolver. Returns an
// empty string if TLS is not the reason.
std::string tls_hint(const server_address& at);

}  // namespace conclave::cli
