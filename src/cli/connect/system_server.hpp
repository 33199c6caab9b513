// The server for all users of this machine (`conclave serve --system`).
#pragma once

#include <string>

namespace conclave::cli {

// The path that shows that this machine has a system server, running or not: the folder of its
// socket, its data, or its enabled unit. Empty if none exists. If there is a system server, a
// private one would not exclude its users.
std::string sign_of_system_server();

}  // namespace conclave::cli
