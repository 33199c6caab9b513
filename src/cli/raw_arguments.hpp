// `PATH...`: words that are taken as they are. CLI11 would read [a,b] as two of them, and {} as
// none.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace conclave::cli {

// For a command that takes no other words.
CLI::Option* add_raw_arguments(CLI::App& app, const std::string& name,
                               std::vector<std::string>& into, const std::string& description);

}  // namespace conclave::cli
