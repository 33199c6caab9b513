// ZooKeeper's configuration file, as far as it concerns a server that stands alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "conclave/server_options.hpp"

namespace conclave::cli {

// Sets what the file says. Throws std::runtime_error that names the line at fault; settings that
// mean nothing here are returned, to be told.
std::vector<std::string> read_zoo_cfg(const std::filesystem::path& file, server_options& options);

}  // namespace conclave::cli
