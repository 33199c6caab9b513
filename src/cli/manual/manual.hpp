// conclave(1): the page that `man conclave` shows.
#pragma once

#include <string>

#include "cli/reference/command_tree.hpp"

namespace conclave::cli {

// In the roff of man(7). The commands are taken from the command line itself, the rest from
// sections.cpp.
std::string manual_page(const command_info& root);

// What is written by hand, in roff: before the commands, and behind them.
extern const char* const manual_before_commands;
extern const char* const manual_after_commands;

}  // namespace conclave::cli
