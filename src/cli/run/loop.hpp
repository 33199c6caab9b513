// One thread that waits for signals, for what other threads have to tell, and for moments in time.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "cli/run/signals.hpp"

namespace conclave::cli {

class loop {
 public:
  using clock = std::chrono::steady_clock;

  // Takes over the signals that end or stop a program, and those of children and the terminal. To
  // be made before the first thread, which would get them otherwise.
  loop();
  ~loop();
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  // Called with each signal that arrives.
  void on_signal(std::function<void(int)> f) { on_signal_ = std::move(f); }
  // Called in every turn; says when it wants to be called again at the latest.
  void on_turn(std::function<clock::time_point()> f) { on_turn_ = std::move(f); }

  // From any thread: f is called in the loop.
  void post(std::function<void()> f);

  // Until end(); its code.
  int run();
  void end(int code) { code_ = code; }
  // By a signal that we got. SIGINT we die of, see exit_code.hpp.
  void end_by(int signal) { end(code_of(signal)); }
  static int code_of(int signal) { return signal == SIGINT ? -signal : 128 + signal; }

  // What was blocked before: for programs that are started.
  const sigset_t& original_mask() const noexcept { return original_; }

 private:
  void wait(clock::time_point until);
  void take_signals();
  void take_posts();

  sigset_t original_{};
  int signals_ = -1;
  int posted_ = -1;
  std::function<void(int)> on_signal_;
  std::function<clock::time_point()> on_turn_;
  std::optional<int> code_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posts_;
};

}  // namespace conclave::cli
