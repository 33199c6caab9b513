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
// describe_whole_program(). Returns the index of the command in `words`. If server options precede
// the command, the index is greater than 0. Returns words.size() if there is no command.
std::size_t describe_program(CLI::App& app, invocation& call,
                             const std::vector<std::string>& words);

// Call after parsing. Options that precede the command also apply to it. Copies their values to the
// command, unless the command already has values for these options. Throws failure if the command
// does not know one of these options.
void pass_on_options(CLI::App& app);

// Finds the command whose name starts at words[at], for example "queue push". `next` is the index
// of the first word after the name.
struct named_command {
  CLI::App* app;
  std::size_t next;
};
named_command find_command(CLI::App& app, const std::vector<std::string>& words, std::size_t at);

// Returns the error text for a word that is not a subcommand of `app`. The text suggests the most
// similar command.
std::string unknown_command(const CLI::App& app, const std::string& word);
// Returns the error text for an unknown option. The text suggests the most similar option.
std::string unknown_option(const CLI::App& app, const std::string& word);

}  // namespace conclave::cli
