// The flags common to all commands that run a program while they hold a lock.
#pragma once

#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/run/child.hpp"
#include "cli/run/watched_run.hpp"

namespace conclave::cli {

struct run_flags {
  std::string label, on_suspend = "ignore", kill_after;
  std::optional<std::string> shell_line;
  bool grace_reported = false;

  // Returns the program given with -c or after `--`. Returns nullopt if neither is given. Throws
  // failure if both are given.
  std::optional<program> program_of(const invocation& call) const;
  // Returns the options for watched_run. If the grace period does not fit into the session timeout,
  // shortens the grace period, and reports this once.
  run_options options(connection& c);
};

void add_run_flags(CLI::App& app, run_flags& f);

// Returns the corrected command line if the `--` or the command is missing. `words` is the whole
// command line. The first word that is neither a flag nor the value of a flag is the path. The next
// such word begins the command.
std::string corrected_command_line(const CLI::App& command, const std::vector<std::string>& words);

}  // namespace conclave::cli
