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

// Reads $CONCLAVE_CONFIG, or else /etc/conclave/config and ~/.config/conclave/config, which takes
// precedence. The latter two may be missing. Throws a failure that names the file, and the line if
// a line is wrong.
settings read_settings();

}  // namespace conclave::cli
