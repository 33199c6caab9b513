// Durations as text: 500ms, 10s, 5m, 2h. A number without a unit is in seconds.
#pragma once

#include <chrono>
#include <string>

namespace conclave::cli {

// If the text is malformed, throws a std::invalid_argument that shows the expected form.
std::chrono::milliseconds parse_duration(const std::string& text);

// Returns a short human-readable text, such as 350ms, 12s, 3m04s, 2h05m or 3d04h.
std::string short_time(std::chrono::nanoseconds t);
// Formats the time in milliseconds with three significant digits, for measurements: 0.123 ms.
std::string milliseconds_text(std::chrono::nanoseconds t);

}  // namespace conclave::cli
