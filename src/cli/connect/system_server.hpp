// The server for all users of this machine (`conclave serve --system`).
#pragma once

#include <string>

namespace conclave::cli {

// What shows that this machine has one, whether it runs just now or not: its socket's folder, its
// data, or its unit, enabled. Empty if nothing does. Where there is one, a private server would
// exclude nobody.
std::string sign_of_system_server();

}  // namespace conclave::cli
