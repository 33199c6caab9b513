// Times in this layer are microseconds since 1970 by this machine's clock. JavaScript and JSON
// represent them exactly.
#pragma once

#include <chrono>
#include <cstdint>

namespace conclave::web {

using moment = std::int64_t;

inline moment moment_of(std::chrono::system_clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch()).count();
}
inline moment now() { return moment_of(std::chrono::system_clock::now()); }

constexpr moment one_second = 1'000'000;

}  // namespace conclave::web
