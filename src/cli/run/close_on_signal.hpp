// Closes the session before a signal terminates the program. Otherwise the server would keep a
// claim or a position in a wait queue until the session timeout.
//
//   close_on_signal on_signal;
//   connection c{...};
//   const auto closing = on_signal.closes(c.zk());
//
// This class is for commands that wait in blocking calls. Commands that run programs use a loop
// instead.
#pragma once

#include <signal.h>

#include <memory>
#include <mutex>
#include <thread>

#include "conclave/client.hpp"

namespace conclave::cli {

class close_on_signal {
 public:
  // Create it before the program starts another thread. Otherwise that thread could receive the
  // signals.
  close_on_signal();
  ~close_on_signal();
  close_on_signal(const close_on_signal&) = delete;
  close_on_signal& operator=(const close_on_signal&) = delete;

  // Closes `zk` on a signal, until the returned object is destroyed. Once a signal has arrived, the
  // destructor of that object blocks until the process terminates.
  [[nodiscard]] std::shared_ptr<void> closes(client& zk);

 private:
  void run();

  sigset_t signals_{};
  std::mutex mutex_;
  client* client_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace conclave::cli
