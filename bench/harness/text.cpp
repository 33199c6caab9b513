#include "text.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace conclave::bench {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 1000 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

std::string with_spread(const spread& s) {
  return number(s.median) + " (" + number(s.smallest) + "–" + number(s.largest) + ")";
}

std::string padded(std::string text, std::size_t width) {
  const auto characters =
      static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
      }));
  if (characters < width) text.append(width - characters, ' ');
  return text;
}

}  // namespace conclave::bench
