// Completion scripts for shells, generated from the command tree.
#pragma once

#include <string>
#include <vector>

#include "cli/reference/command_tree.hpp"

namespace conclave::cli {

std::string bash_completion(const command_info& root);
std::string zsh_completion(const command_info& root);
std::string fish_completion(const command_info& root);

// The kind of value that an option or an argument has, derived from its name in the help text.
enum class value_kind { anything, file, folder, node };
value_kind kind_of_value(const std::string& name);
value_kind kind_of_argument(const std::string& name);

std::string joined(const std::vector<std::string>& words, const std::string& between);

}  // namespace conclave::cli
