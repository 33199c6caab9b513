// The flags of every command that runs a program during a hold.
#pragma once

#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/run/child.hpp"
#include "cli/run/watched_run.hpp"

namespace conclave::cli {

struct run_flags {
  std::string label, on_suspend = "ignore", kill_after = "5s";
  std::optional<std::string> line;

  // The program of -c or after `--`; nothing if there is neither. Throws failure for both.
  std::optional<program> program_of(const invocation& call) const;
  // The options for watched_run. Shortens the grace period if the session timeout is too short for
  // it.
  run_options options(connection& c) const;
};

void add_run_flags(CLI::App& app, run_flags& f);

}  // namespace conclave::cli
