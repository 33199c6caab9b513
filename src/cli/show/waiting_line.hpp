// One line on a terminal, kept up to date while a lock is waited for: how many are before us, who
// holds it, and since when we wait.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "conclave/client.hpp"
#include "conclave/layout.hpp"

namespace conclave::cli {

class waiting_line {
 public:
  struct subject {
    std::string name;  // as the user wrote it
    std::string path;  // where its contenders are
    layout names;
    std::string server;  // who is waited for while there is no connection
  };
  enum class form {
    one_line,  // written over again and again
    log,       // a line on stderr for each change
  };
  // Says nothing in the first moments.
  waiting_line(client& zk, subject what, form f = form::one_line);
  // Leaves an empty line.
  ~waiting_line();
  waiting_line(const waiting_line&) = delete;
  waiting_line& operator=(const waiting_line&) = delete;

 private:
  struct state {
    std::string what;    // who is waited for
    std::string holder;  // and for how long it holds
  };
  void run(const std::stop_token& stop);
  state now() const;
  void show(const state& s);

  client& zk_;
  const subject what_;
  const form form_;
  std::string logged_;  // last
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::jthread thread_;
};

}  // namespace conclave::cli
