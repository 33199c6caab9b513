// A server that sends exactly the bytes that a test chooses, for replies that no real server sends.
//
//   scripted_server server([](scripted_connection& connection) {
//     connection.accept_session(10000, 0x1234);
//     connection.read_frame();
//     connection.send_bytes("\xff\xff\xff\xff");  // a negative frame length
//   });
//
// The script runs once for every accepted connection, each in its own thread, so it must be
// thread-safe. When it returns, the connection is closed (FIN). The helpers throw `timed_out` and
// `connection_ended`. A script may exit with `connection_ended` when the client disconnects or the
// test ends. Any other exception is recorded in failures(). The destructor interrupts blocked
// helpers and joins all threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "frames.hpp"
#include "loopback_socket.hpp"

namespace conclave::testing {

class scripted_connection {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr milliseconds default_timeout{10000};

  std::size_t index() const noexcept { return index_; }  // 0 for the first connection accepted

  std::string read_frame(milliseconds timeout = default_timeout) {
    return socket_.receive_frame(timeout);
  }
  connect_request read_connect_request(milliseconds timeout = default_timeout);

  void send_bytes(std::string_view bytes) { socket_.send(bytes); }
  void send_frame(std::string_view payload) { socket_.send_frame(payload); }
  // A reply header (xid, zxid, error) and what follows it.
  void send_reply(std::int32_t xid, std::int64_t zxid, std::int32_t error,
                  std::string_view body = {});

  // Reads the handshake and answers it properly. A session id of 0 with a timeout of 0 tells the
  // client that its session has expired. Returns what the client asked for.
  connect_request accept_session(std::int32_t timeout_ms, std::int64_t session_id);

  // Discards input until the client closes or the test ends. Returns false on timeout.
  bool wait_until_closed(milliseconds timeout = default_timeout);

  void close() noexcept { socket_.close(); }  // FIN
  void reset() noexcept { socket_.reset(); }  // RST

 private:
  friend class scripted_server;
  scripted_connection(loopback_socket socket, std::size_t index)
      : socket_(std::move(socket)), index_(index) {}

  loopback_socket socket_;
  std::size_t index_;
};

class scripted_server {
 public:
  using script = std::function<void(scripted_connection&)>;

  explicit scripted_server(script per_connection);
  ~scripted_server();
  scripted_server(const scripted_server&) = delete;
  scripted_server& operator=(const scripted_server&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  std::string connect_string() const { return "127.0.0.1:" + std::to_string(port_); }
  std::size_t connections() const noexcept { return connections_; }  // accepted so far
  std::vector<std::string> failures() const;                         // exceptions of scripts

 private:
  void accept_loop();
  void run_script(int fd, std::size_t index);

  const script script_;
  int listener_{-1};
  int stop_fd_{-1};  // an eventfd; readable once the destructor runs
  std::uint16_t port_{0};
  std::atomic<std::size_t> connections_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> failures_;
  std::list<std::thread> scripts_;  // touched by the acceptor only, until it is joined
  std::thread acceptor_;
};

}  // namespace conclave::testing
