// For those who forgot the `--`, or the command: the line that was probably meant.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace conclave::cli {

// words: all of the command line. The first one that is neither a flag nor a flag's value is the
// path, and the next one begins the command.
std::string corrected_command_line(const CLI::App& command, const std::vector<std::string>& words);

}  // namespace conclave::cli
