// The data for a node: an argument, a file, or stdin.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace conclave::cli::znode {

struct data_source {
  std::string argument, file;
  const CLI::Option* given_argument = nullptr;
  const CLI::Option* given_file = nullptr;

  bool given() const { return *given_argument || *given_file; }
  // Throws failure if the data cannot be read. If the data is too large for a server, stops reading
  // and throws failure.
  std::string read() const;
};

// Adds the second positional argument and --file. Call it after add_common_flags.
void add_data_flags(CLI::App& app, data_source& d);

}  // namespace conclave::cli::znode
