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
  };
  // Says nothing in the first moments.
  waiting_line(client& zk, subject what);
  // Leaves an empty line.
  ~waiting_line();
  waiting_line(const waiting_line&) = delete;
  waiting_line& operator=(const waiting_line&) = delete;

 private:
  void run(const std::stop_token& stop);
  std::string text() const;

  client& zk_;
  const subject what_;
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::jthread thread_;
};

}  // namespace conclave::cli
