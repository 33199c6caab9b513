// The whole command line as one tree of flags.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace conclave::cli {

// With the flags of every command.
void describe_whole_program(CLI::App& app, invocation& call);
// With the flags of the command that the words name, which takes a tenth of the time. Returns which
// of the words is the command: options of the server may stand before it. The number of words if
// there is none.
std::size_t describe_program(CLI::App& app, invocation& call,
                             const std::vector<std::string>& words);

// To be called after parsing: the options that stood before the command become those of the
// command, unless it has its own. Throws failure if it does not know them.
void pass_on_options(CLI::App& app);

// The command that the words from `at` on name, and the first word behind it.
struct named_command {
  CLI::App* app;
  std::size_t next;
};
named_command find_command(CLI::App& app, const std::vector<std::string>& words, std::size_t at);

// What is wrong with a word that names no command below `app`, and what was probably meant.
std::string unknown_command(const CLI::App& app, const std::string& word);
// The same of an option.
std::string unknown_option(const CLI::App& app, const std::string& word);

}  // namespace conclave::cli
