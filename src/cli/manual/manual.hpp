// The manual page conclave(1).
#pragma once

#include <string>

#include "cli/reference/command_tree.hpp"

namespace conclave::cli {

// Returns the page in the roff format of man(7). The commands come from the command tree, and the
// rest comes from sections.cpp.
std::string manual_page(const command_info& root);

// The hand-written sections, in roff, that come before and after the commands.
extern const char* const manual_before_commands;
extern const char* const manual_after_commands;

}  // namespace conclave::cli
