// `PATH...`: arguments that are taken literally. CLI11 alone would split the argument [a,b] in two
// and ignore the argument {}.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace conclave::cli {

// Use this for commands that have no other positional arguments.
CLI::Option* add_raw_arguments(CLI::App& app, const std::string& name,
                               std::vector<std::string>& into, const std::string& description);

}  // namespace conclave::cli
