// Reads the zoo.cfg of a standalone ZooKeeper server.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "conclave/server_options.hpp"

namespace conclave::cli {

// Splits a comma-separated list such as "a, b,c".
std::vector<std::string> split_list(const std::string& text);

// Throws std::runtime_error if the folder contains Apache ZooKeeper data but no Conclave store,
// because the server would start with an empty tree there.
void refuse_apache_data(const std::filesystem::path& folder);

// Applies the settings of the file to `options`. Throws std::runtime_error for invalid lines and
// for security settings that this server does not support. Returns the names of other unsupported
// settings.
std::vector<std::string> read_zoo_cfg(const std::filesystem::path& file, server_options& options);

}  // namespace conclave::cli
