// Data for a node: an argument, a file, or stdin.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace conclave::cli::znode {

struct data_source {
  std::string argument, file;
  const CLI::Option* given_argument = nullptr;
  const CLI::Option* given_file = nullptr;

  bool given() const { return *given_argument || *given_file; }
  // What is too large for a server is not read to its end. Throws failure.
  std::string read() const;
};

// The second positional, and --file. Behind add_common_flags.
void add_data_flags(CLI::App& app, data_source& d);

}  // namespace conclave::cli::znode
