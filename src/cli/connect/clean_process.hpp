// What a server that is started in the background must not inherit from the command that starts it.
#pragma once

#include <string>
#include <vector>

namespace conclave::cli {

// For the child between fork() and exec(): default signals, mode mask, folder, priority, and
// resource limits as wide as the system lets them be. Returns why a server cannot live with what is
// left, or nothing.
std::string reset_inherited_state();

// The environment for it: nothing of the caller's but what programs need to be loaded. `folder` is
// its CONCLAVE_LOCAL.
std::vector<std::string> clean_environment(const std::string& folder);

}  // namespace conclave::cli
