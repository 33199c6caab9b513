#include "cli/duration.hpp"

#include <charconv>
#include <limits>
#include <stdexcept>

namespace conclave::cli {

std::chrono::milliseconds parse_duration(const std::string& text, std::chrono::milliseconds unit) {
  std::int64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, number);
  const std::string suffix{rest, end};
  std::int64_t factor = 0;
  if (suffix.empty()) factor = unit.count();
  if (suffix == "ms") factor = 1;
  if (suffix == "s") factor = 1000;
  if (suffix == "m") factor = 60'000;
  if (suffix == "h") factor = 3'600'000;
  if (ec != std::errc{} || factor == 0 || number < 0 ||
      number > std::numeric_limits<std::int32_t>::max() / factor)
    throw std::invalid_argument{"'" + text + "' is not a time; write 500ms, 10s, 5m or 2h"};
  return std::chrono::milliseconds{number * factor};
}

}  // namespace conclave::cli
