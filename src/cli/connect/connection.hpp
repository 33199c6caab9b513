// A client that is connected, or the program ends with a message that says what to do.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "cli/connect/connect_flags.hpp"
#include "conclave/client.hpp"

namespace conclave::cli {

class connection {
 public:
  // Throws failure with unavailable if there is no server in time, and for what cannot be read. On
  // a terminal it says when it waits for the server, then and later, and when the server is back.
  explicit connection(const connect_flags& flags) : connection{find_server(flags)} {}
  explicit connection(server_address at);
  // For a loop that must hear of signals meanwhile, and whose first request can go out as early as
  // possible: it asks connected() again and again until that is true.
  struct without_waiting {};
  connection(server_address at, without_waiting);
  // Whether there was a connection, whatever became of it since. Throws as the constructor does.
  bool connected();
  void wait_until_connected();
  // For whoever cannot wait any longer. Throws failure with unavailable.
  [[noreturn]] void no_server();
  // To be called before the end of a session that holds something: a server that is down would keep
  // all of that for the session's timeout, and our own is back at once.
  void see_server_alive();
  // The last that was heard of why there is no connection; empty if nothing was.
  std::string trouble();
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  client& zk() noexcept { return *client_; }
  const server_address& at() const noexcept { return at_; }

 private:
  class reviver;
  // What people who look at the terminal know.
  enum class notice { never_given, none, waits_for_server };

  void report(bool server_is_there);

  server_address at_;
  const std::chrono::steady_clock::time_point until_;
  std::chrono::steady_clock::time_point next_look_;  // whether our own server is there
  std::atomic<bool> connected_{false};               // once is enough
  std::mutex mutex_;
  notice notice_ = notice::never_given;
  std::string trouble_;
  log_level gravest_ = log_level::warning;
  // Starts this user's own server again whenever it has died under us.
  std::unique_ptr<reviver> reviver_;
  std::unique_ptr<client> client_;
};

}  // namespace conclave::cli
