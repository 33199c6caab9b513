#include "cli/run/corrected_command_line.hpp"

#include <CLI/CLI.hpp>

#include "cli/show/text.hpp"

namespace conclave::cli {
namespace {

// The number of words of the command's name: 1 for `lock`, 2 for `queue work`.
std::size_t words_of_name(const CLI::App& command) {
  std::size_t n = 0;
  for (const auto* a = command.get_parent(); a != nullptr; a = a->get_parent()) ++n;
  return n;
}

bool takes_a_value(const CLI::App& command, const std::string& flag) {
  const auto* const option = command.get_option_no_throw(flag);
  return option != nullptr && option->get_items_expected_max() > 0;
}

}  // namespace

std::string corrected_command_line(const CLI::App& command, const std::vector<std::string>& words) {
  std::string line = "conclave";
  const auto add = [&](const std::string& word) { line += " " + in_shell(word); };
  const auto name = words_of_name(command);
  bool path = false, program = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") continue;  // inserted again below
    const bool is_flag = words[i].starts_with("-");
    if (i >= name && !is_flag && !program && std::exchange(path, true)) {
      line += " --";
      program = true;
    }
    add(words[i]);
    if (is_flag && !program && takes_a_value(command, words[i]) && i + 1 < words.size())
      add(words[++i]);
  }
  return line + (path ? "" : " PATH") + (program ? "" : " -- COMMAND");
}

}  // namespace conclave::cli
