// A signal ends the program, but its session first: a claim, or a place in a line, would otherwise
// stay at the server until the session's timeout.
//
//   close_on_signal on_signal;
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

class close_on_signal {
 public:
  // To be made before the first thread, which would get the signals otherwise.
  close_on_signal();
  ~close_on_signal();
  close_on_signal(const close_on_signal&) = delete;
  close_on_signal& operator=(const close_on_signal&) = delete;

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
