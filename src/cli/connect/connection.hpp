// A connected client. If there is no server, the program exits with a message that says what to do.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "cli/connect/connect_flags.hpp"
#include "cli/connect/message_writer.hpp"
#include "conclave/client.hpp"

namespace conclave::cli {

class connection {
 public:
  // Throws failure with code unavailable if no server answers in time. Also throws failure if a
  // file cannot be read. On a terminal, the object prints a message whenever it waits for the
  // server and whenever the connection is restored, even after the constructor has returned.
  explicit connection(const connect_flags& flags) : connection{find_server(flags)} {}
  explicit connection(server_address at);
  // Selects a constructor that does not wait for the server. Use it in a loop that handles signals
  // during the wait and sends its first request as early as possible. The loop calls connected()
  // until it returns true.
  struct without_waiting {};
  connection(server_address at, without_waiting);
  // Returns true if a connection was ever established, even if it is lost now. Throws the same
  // exceptions as the constructor.
  bool connected();
  void wait_until_connected();
  // Reports once that the server grants a shorter session timeout than the user has requested. With
  // --verbose, always reports the timeout. There must be a session.
  void report_session_timeout();
  // Throws failure with code unavailable if the chroot of the connect string does not exist. If an
  // earlier call found the chroot, does nothing. Without a connection, the function cannot check
  // the chroot and does not throw.
  void require_chroot();
  // Calls attempt(limit) and returns its result, which is false if the attempt did not succeed
  // within the limit. If there is no connection at that time, the missing server may be the reason.
  // In that case, the function waits for a connection, as connected_after() does, and returns
  // attempt(0).
  template <class Attempt>
  auto try_for(std::chrono::nanoseconds limit, Attempt attempt) {
    using namespace std::chrono_literals;
    auto got = attempt(limit);
    if (got || client_->state() == session_state::connected) return got;
    const auto expiry = std::chrono::steady_clock::now();
    while (!connected_after(expiry)) client_->wait_connected(50ms);
    return attempt(std::chrono::nanoseconds{0});
  }
  // For a loop: call it if the limit of an attempt has passed and there is no connection. Returns
  // whether there is a connection now. If there is still none one second after the limit, throws
  // failure with code unavailable.
  bool connected_after(std::chrono::steady_clock::time_point expiry);
  // Call before ending a session that holds a lock or an item. If this user's own server is down,
  // waits until it runs again. Otherwise the session could not be closed, and the lock or item
  // would be kept until the session timeout.
  void await_own_server();
  // Call after a waiting request was cancelled. Returns when the server has processed everything
  // that the cancellation sends, or after one second.
  void await_sent_requests();
  // Writes a line to stderr, after the messages about the connection; see message_writer::post().
  void post_message(const std::string& what) noexcept { messages_.post(what); }
  // Call before _exit(). Returns when the messages to stderr are written; see message_writer.
  void flush_messages() noexcept { messages_.flush(); }
  // Returns the reason that was last reported for a missing connection, or an empty string.
  std::string last_problem();
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  client& zk() noexcept { return *client_; }
  const server_address& at() const noexcept { return at_; }

 private:
  class server_restarter;
  // The state that was last printed on the terminal.
  enum class notice { never, none, waits_for_server };

  void report(bool is_connected);
  [[noreturn]] void throw_no_server();

  server_address at_;
  const std::chrono::steady_clock::time_point connect_deadline_;
  std::chrono::steady_clock::time_point next_check_;  // when to check our own server again
  std::atomic<bool> connected_{false};                // set by the first connection, never reset
  bool chroot_found_ = false;
  bool session_timeout_reported_ = false;
  std::mutex mutex_;
  notice notice_ = notice::never;
  std::string last_problem_;
  log_level problem_level_ = log_level::warning;
  message_writer messages_;
  // Restarts this user's own server when it has died.
  std::unique_ptr<server_restarter> server_restarter_;
  std::unique_ptr<client> client_;
};

}  // namespace conclave::cli
