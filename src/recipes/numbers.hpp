// The number that the server puts behind a sequential name, and its end.
#pragma once

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

namespace conclave::recipes {

inline constexpr std::int32_t last_number = std::numeric_limits<std::int32_t>::max();

// Near the end the numbers do not order the contenders any more: one server sticks at the last
// number and uses it again, another goes on below zero.
constexpr bool near_the_end(std::int32_t number) {
  return number < 0 || number >= last_number - 0xffff;
}

inline std::string number_text(std::int32_t number) {
  char text[16];
  std::snprintf(text, sizeof text, "%010d", number);
  return text;
}

}  // namespace conclave::recipes
