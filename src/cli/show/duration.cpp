#include "cli/show/duration.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

namespace conclave::cli {

std::chrono::milliseconds parse_duration(const std::string& text) {
  double number = 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const std::string suffix{rest, end};
  std::int64_t factor = 0;
  if (suffix == "ms") factor = 1;
  if (suffix == "s" || suffix.empty()) factor = 1000;
  if (suffix == "m") factor = 60'000;
  if (suffix == "h") factor = 3'600'000;
  if (ec != std::errc{} || factor == 0 || !(number >= 0) ||
      number * static_cast<double>(factor) > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument{"'" + text + "' is not a time; write 500ms, 10s, 5m or 2h"};
  return std::chrono::milliseconds{std::llround(number * static_cast<double>(factor))};
}

std::string short_time(std::chrono::nanoseconds t) {
  const auto ms = std::max<std::int64_t>(t / std::chrono::milliseconds{1}, 0);
  const auto two = [](std::int64_t a, const char* unit, std::int64_t b, const char* smaller) {
    return std::to_string(a) + unit + (b < 10 ? "0" : "") + std::to_string(b) + smaller;
  };
  const auto s = ms / 1000;
  if (ms < 1000) return std::to_string(ms) + "ms";
  if (s < 60) return std::to_string(s) + "s";
  if (s < 3600) return two(s / 60, "m", s % 60, "s");
  if (s < 86400) return two(s / 3600, "h", s / 60 % 60, "m");
  return two(s / 86400, "d", s / 3600 % 24, "h");
}

std::string milliseconds_text(std::chrono::nanoseconds t) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g ms", static_cast<double>(t.count()) / 1e6);
  return text.data();
}

}  // namespace conclave::cli
