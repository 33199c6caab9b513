// A check for options that have no meaning without a value. An empty value usually comes from a
// script variable that is not set. Ignoring it could disable encryption or authentication.
#pragma once

#include <string>

namespace conclave::cli {

// For CLI::Option::check(): returns why the value is refused, or an empty string.
inline std::string non_empty(const std::string& given) {
  return given.empty() ? "must not be empty; give a value, or leave out the option" : "";
}

}  // namespace conclave::cli
