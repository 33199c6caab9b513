// The whole command line as data, for the completion scripts and the manual page.
#pragma once

#include <string>
#include <vector>

namespace conclave::cli {

struct option_info {
  std::vector<std::string> names;  // with dashes, short names first
  std::string description;
  std::string group;
  std::string value;  // the type of the value, such as TIME; empty if the option has no value
  bool value_may_be_left_out = false;
  std::string standard;              // the default value, if known
  std::vector<std::string> choices;  // permitted values; empty if any value is permitted
};

struct positional_info {
  std::string name;
  std::string description;
  bool required = false, many = false;
  std::vector<std::string> choices;
};

struct command_info {
  std::string name;         // the last word
  std::string words;        // all words after the program name, such as "queue push"
  std::string summary;      // one line
  std::string description;  // the long text
  std::string footer;       // examples and further text
  bool hidden = false;
  bool runs_program = false;  // runs the program after --
  std::vector<option_info> options;
  std::vector<positional_info> positionals;
  std::vector<command_info> commands;
};

command_info whole_program();

// Returns the command and all commands below it that are not hidden, in the order of the help text.
std::vector<const command_info*> all_of(const command_info& root);

// Returns the text up to the end of the first line or sentence.
std::string first_words(const std::string& text);

// Returns the text with every `from` replaced with `to`.
std::string with(std::string text, const std::string& from, const std::string& to);

}  // namespace conclave::cli
