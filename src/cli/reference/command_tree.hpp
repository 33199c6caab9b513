// The whole command line as data: what completion scripts and the manual page are made of.
#pragma once

#include <string>
#include <vector>

namespace conclave::cli {

struct option_info {
  std::vector<std::string> names;  // with their dashes, the short ones first
  std::string description;
  std::string group;
  std::string value;  // what it takes, as TIME; empty: nothing
  bool value_may_be_left_out = false;
  std::string standard;              // value, if it is known
  std::vector<std::string> choices;  // of values; empty: any
};

struct positional_info {
  std::string name;
  std::string description;
  bool required = false, many = false;
  std::vector<std::string> choices;
};

struct command_info {
  std::string name;         // the last word
  std::string words;        // all of them but the program's, as "queue push"
  std::string summary;      // of one line
  std::string description;  // longer
  std::string footer;       // examples and more
  bool hidden = false;
  bool runs_program = false;  // what stands behind --
  std::vector<option_info> options;
  std::vector<positional_info> positionals;
  std::vector<command_info> commands;
};

command_info whole_program();

// The command itself and all below it that are not hidden, in the order of help.
std::vector<const command_info*> all_of(const command_info& root);

// Up to the end of the first line, or sentence.
std::string first_words(const std::string& text);

// With `from` replaced by `to` wherever it stands.
std::string with(std::string text, const std::string& from, const std::string& to);

}  // namespace conclave::cli
