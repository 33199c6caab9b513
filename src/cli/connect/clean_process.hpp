// Removes the state that a background server would inherit from the command that starts it.
#pragma once

#include <string>
#include <vector>

namespace conclave::cli {

// Call in the child process between fork() and exec(). Resets signals, umask, working directory and
// priority, and raises the resource limits as far as the system permits. Returns the reason if a
// server cannot run, for example because a limit is still too low. Otherwise returns an empty
// string.
std::string reset_inherited_state();

// Returns the environment for the server. Of the caller's variables, it contains only those of the
// dynamic loader and of sanitizers. CONCLAVE_LOCAL is set to `folder`.
std::vector<std::string> clean_environment(const std::string& folder);

}  // namespace conclave::cli
