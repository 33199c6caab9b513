// The settings file: lines of `name = value`, with comments after #.
#pragma once

#include <map>
#include <string>

namespace conclave::cli {

struct settings {
  std::map<std::string, std::string> values;
  std::map<std::string, std::string> positions;  // the file:line of each value

  std::string value(const std::string& name) const;
};

// Returns the value of an environment variable, or nullptr if it is not set. Throws failure if it
// is empty.
const char* environment_variable(const char* name);

// Reads the file that $CONCLAVE_CONFIG names. If the variable is not set, reads
// /etc/conclave/config and ~/.config/conclave/config. The user's file takes precedence. Both files
// may be missing. If a file cannot be read or a line is wrong, throws a failure that names the file
// and the line.
settings read_settings();

}  // namespace conclave::cli
