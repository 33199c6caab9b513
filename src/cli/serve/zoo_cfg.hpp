// ZooKeeper's configuration file, as far as it concerns a server that stands alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "conclave/server_options.hpp"

namespace conclave::cli {

// "a, b,c" in parts.
std::vector<std::string> listed(const std::string& text);

// Throws std::runtime_error if the folder is an Apache ZooKeeper's and no server of ours was there:
// an empty tree is not what its operator expects.
void refuse_apache_data(const std::filesystem::path& folder);

// Sets what the file says. Throws std::runtime_error that names the line at fault, or a setting
// that promises protection this server would not give. Settings that mean nothing here are
// returned, to be reported.
std::vector<std::string> read_zoo_cfg(const std::filesystem::path& file, server_options& options);

}  // namespace conclave::cli
