// Suggests the correct command line if the `--` or the command is missing.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace conclave::cli {

// `words` is the whole command line. The first word that is neither a flag nor the value of a flag
// is the path. The next such word begins the command.
std::string corrected_command_line(const CLI::App& command, const std::vector<std::string>& words);

}  // namespace conclave::cli
