// Removes the state that a background server would inherit from the command that starts it.
#pragma once

#include <string>
#include <vector>

namespace conclave::cli {

// Call in the child process between fork() and exec(). Resets signals, umask, working directory and
// priority, and raises the resource limits as far as the system permits. Returns why a server
// cannot run with a remaining limit, or an empty string.
std::string reset_inherited_state();

// The environment of the server. Keeps only the caller's variables that programs need to be loaded.
// `folder` becomes its CONCLAVE_LOCAL.
std::vector<std::string> clean_environment(const std::string& folder);

}  // namespace conclave::cli
