// Limits a repeated log message to one per interval and counts the suppressed messages.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace conclave::server_impl {

class log_limit {
 public:
  using clock = std::chrono::steady_clock;

  explicit log_limit(clock::duration interval = std::chrono::seconds{1}) : interval_{interval} {}

  // Returns nullopt if the caller must not log this message. Otherwise returns how many messages
  // were suppressed since the last logged message.
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

// The kinds of log messages about individual clients. Anybody who can connect can cause these
// messages, so each kind has a limit.
enum class client_fault : std::uint8_t {
  foreign_user,
  too_many_of_peer,
  too_many_connections,
  tls_failed,
  not_the_protocol,
  no_handshake,
  does_not_read,
  too_many_events,
};

class client_log_limits {
 public:
  log_limit& of(client_fault f) { return limits_[static_cast<std::size_t>(f)]; }

 private:
  static constexpr auto kinds = static_cast<std::size_t>(client_fault::too_many_events) + 1;
  std::array<log_limit, kinds> limits_;
};

}  // namespace conclave::server_impl
