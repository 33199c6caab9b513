// The command line of the whole program as a tree of CLI11 commands.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace conclave::cli {

// Adds the flags of every command.
void describe_whole_program(CLI::App& app, invocation& call);
// Adds only the flags of the command that `words` name, which takes a tenth of the time. Returns
// the index of the command in `words`, because server options may come first. Returns words.size()
// if there is no command.
std::size_t describe_program(CLI::App& app, invocation& call,
                             const std::vector<std::string>& words);

// Call after parsing. Copies the options before the command to the command, unless it has its own
// values. Throws failure if the command does not know such an option.
void pass_on_options(CLI::App& app);

// The command that the words from `at` on name, and the index of the first word after it.
struct named_command {
  CLI::App* app;
  std::size_t next;
};
named_command find_command(CLI::App& app, const std::vector<std::string>& words, std::size_t at);

// Error text for a word that names no command below `app`, with the most similar command.
std::string unknown_command(const CLI::App& app, const std::string& word);
// Error text for an unknown option, with the most similar one.
std::string unknown_option(const CLI::App& app, const std::string& word);

}  // namespace conclave::cli
