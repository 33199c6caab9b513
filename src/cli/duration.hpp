// Times as people write them: 500ms, 10s, 5m, 2h. A number alone is in `unit`.
#pragma once

#include <chrono>
#include <string>

namespace conclave::cli {

// Throws std::invalid_argument that says what to write.
std::chrono::milliseconds parse_duration(const std::string& text, std::chrono::milliseconds unit);

}  // namespace conclave::cli
