// The command line of the whole program as a tree of CLI11 commands.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace conclave::cli {

// Adds the flags of every command.
void describe_whole_program(CLI::App& app, invocation& call);
// Adds only the flags of the command that is named in `words`. This takes a tenth of the time of
// describe_whole_program(). Returns the index of the command in `words`, which is not 0 if server
// options come first. Returns words.size() if there is no command.
std::size_t describe_program(CLI::App& app, invocation& call,
                             const std::vector<std::string>& words);

// Call after parsing. Copies the options that are written before the command to the command, unless
// the command has its own values for them. Throws failure if the command does not know one of these
// options.
void pass_on_options(CLI::App& app);

// The command named by the words that start at index `at`, and the index of the first word after
// its name.
struct named_command {
  CLI::App* app;
  std::size_t next;
};
named_command find_command(CLI::App& app, const std::vector<std::string>& words, std::size_t at);

// Returns the error text for a word that names no command below `app`. The text suggests the most
// similar command.
std::string unknown_command(const CLI::App& app, const std::string& word);
// Returns the error text for an unknown option. The text suggests the most similar option.
std::string unknown_option(const CLI::App& app, const std::string& word);

}  // namespace conclave::cli
