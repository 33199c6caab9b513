// Limits a repeated log message to one per interval and counts the suppressed ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace conclave::server_impl {

class log_limit {
 public:
  using clock = std::chrono::steady_clock;

  explicit log_limit(clock::duration interval) : interval_{interval} {}

  // Returns how many messages were suppressed since the last logged one; nullopt if this message is
  // to be suppressed, too.
  std::optional<std::uint64_t> allow(clock::time_point now) {
    if (last_ && now - *last_ < interval_) {
      ++suppressed_;
      return std::nullopt;
    }
    last_ = now;
    return std::exchange(suppressed_, 0);
  }

 private:
  clock::duration interval_;
  std::optional<clock::time_point> last_;
  std::uint64_t suppressed_ = 0;
};

}  // namespace conclave::server_impl
