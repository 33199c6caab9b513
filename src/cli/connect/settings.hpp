// The settings file: lines of `name = value`, and comments behind #.
#pragma once

#include <map>
#include <string>

namespace conclave::cli {

struct settings {
  std::map<std::string, std::string> values;
  std::map<std::string, std::string> places;  // file:line that a value is from

  std::string value(const std::string& name) const;
};

// $CONCLAVE_CONFIG, or /etc/conclave/config and over it ~/.config/conclave/config; what is missing
// counts as empty. Throws failure that names file and line.
settings read_settings();

}  // namespace conclave::cli
