// Prints a line on the terminal while a command waits for a lock. The line shows how many
// contenders are ahead, who holds the lock, and how long we have waited.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include "conclave/client.hpp"
#include "conclave/contenders.hpp"
#include "conclave/layout.hpp"

namespace conclave::cli {

class wait_status {
 public:
  struct subject {
    std::string name;  // the path as the user wrote it
    std::string path;
    layout names;
    std::size_t permits = 0;  // 0 if the path is not that of a semaphore
    std::string server;       // shown while there is no connection
  };
  enum class form {
    one_line,  // one line, updated in place
    log,       // a line on stderr for each change
  };
  // Prints nothing for the first 0.3 s of the wait.
  wait_status(client& zk, subject what, form f = form::one_line);
  // Clears the line.
  ~wait_status();
  wait_status(const wait_status&) = delete;
  wait_status& operator=(const wait_status&) = delete;

 private:
  struct state {
    std::string what;    // what the command waits for
    std::string holder;  // the holder, and how long it holds
  };
  void run(const std::stop_token& stop);
  state current_state();
  void show(const state& s);

  client& zk_;
  const subject what_;
  wait_position_reader position_;
  const form form_;
  std::string logged_;  // the last logged text
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::jthread thread_;
};

}  // namespace conclave::cli
