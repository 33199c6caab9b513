// A signal ends the program, but its session first: a claim, or a place in a line, would otherwise
// stay at the server until the session's timeout.
//
//   signal_end on_signal;
//   connection c{...};
//   const auto closing = on_signal.closes(c.zk());
//
// For commands that wait in blocking calls; those that run programs have a loop.
#pragma once

#include <signal.h>

#include <memory>
#include <mutex>
#include <thread>

#include "conclave/client.hpp"

namespace conclave::cli {

class signal_end {
 public:
  // To be made before the first thread, which would get the signals otherwise.
  signal_end();
  ~signal_end();
  signal_end(const signal_end&) = delete;
  signal_end& operator=(const signal_end&) = delete;

  // Until what is returned here is destroyed; which does not come back if a signal is ending us.
  [[nodiscard]] std::shared_ptr<void> closes(client& zk);

 private:
  void run();

  sigset_t taken_{};
  std::mutex mutex_;
  client* client_ = nullptr;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace conclave::cli
