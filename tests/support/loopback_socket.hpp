// A TCP connection on 127.0.0.1 whose every operation has a time limit.
//
// Operations throw `timed_out` when the limit passes, and `connection_ended` when the peer closed
// or reset the connection, when it was closed here, or when the descriptor given to `stop_on`
// became readable (that is how another thread makes a blocked operation return). Not for concurrent
// use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace conclave::testing {

class timed_out : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
class connection_ended : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class loopback_socket {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr milliseconds default_timeout{10000};

  // Throws connection_ended when nobody listens on the port.
  static loopback_socket connect(std::uint16_t port, milliseconds timeout = default_timeout);

  explicit loopback_socket(int fd);  // takes over a connected socket
  ~loopback_socket();
  loopback_socket(loopback_socket&& other) noexcept;
  loopback_socket& operator=(loopback_socket&&) = delete;

  int native_handle() const noexcept { return fd_; }
  void stop_on(int fd) noexcept { stop_fd_ = fd; }

  void send(std::string_view bytes, milliseconds timeout = default_timeout);
  void send_frame(std::string_view payload, milliseconds timeout = default_timeout);
  std::string receive(std::size_t count, milliseconds timeout = default_timeout);
  std::string receive_frame(milliseconds timeout = default_timeout);  // the payload
  std::string receive_until_end(
      milliseconds timeout = default_timeout);  // all until the peer closes

  void close() noexcept;  // FIN
  void reset() noexcept;  // RST

 private:
  using clock = std::chrono::steady_clock;
  void wait_for(short events, clock::time_point deadline);
  std::string receive_some(std::size_t at_most,
                           clock::time_point deadline);  // empty: the peer closed

  int fd_;
  int stop_fd_{-1};
};

}  // namespace conclave::testing
