// Lets a repeated message into the log once in a while, and counts those it holds back.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace conclave::server_impl {

class log_limit {
 public:
  using clock = std::chrono::steady_clock;

  explicit log_limit(clock::duration between) : between_{between} {}

  // How many were held back since the last one that was logged; nothing: hold this one back, too.
  std::optional<std::uint64_t> allow(clock::time_point now) {
    if (last_ && now - *last_ < between_) {
      ++suppressed_;
      return std::nullopt;
    }
    last_ = now;
    return std::exchange(suppressed_, 0);
  }

 private:
  clock::duration between_;
  std::optional<clock::time_point> last_;
  std::uint64_t suppressed_ = 0;
};

}  // namespace conclave::server_impl
