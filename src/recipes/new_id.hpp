// Returns a random id of 128 bits. No other contender in any process has the same id.
#pragma once

#include <cstdio>
#include <string>

#include "recipes/session_context.hpp"

namespace conclave::recipes {

inline std::string new_id(session_context& p) {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(p.random()),
                static_cast<unsigned long long>(p.random()));
  return text;
}

}  // namespace conclave::recipes
