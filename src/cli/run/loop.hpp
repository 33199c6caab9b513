// An event loop on one thread: signals, functions posted by other threads, and timers.
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

  // From now on, the loop handles SIGCHLD, SIGCONT, SIGWINCH and the signals that terminate or stop
  // a program. Create the loop before the program starts another thread. Otherwise that thread
  // could receive these signals.
  loop();
  ~loop();
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  // Sets the function that is called for each signal that arrives.
  void on_signal(std::function<void(int)> f) { on_signal_ = std::move(f); }
  // Sets the function that is called in each turn. The function returns the time by which it must
  // be called again.
  void on_turn(std::function<clock::time_point()> f) { on_turn_ = std::move(f); }

  // Calls f in the loop. May be called from any thread.
  void post(std::function<void()> f);

  // Runs until end() is called and returns the code that was passed to it.
  int run();
  void end(int code) { code_ = code; }
  // Ends the loop because of a signal. After SIGINT, the program terminates itself with that
  // signal; see exit_code.hpp.
  void end_by(int signal) { end(code_of(signal)); }
  static int code_of(int signal) { return signal == SIGINT ? -signal : 128 + signal; }

  // Returns the signal mask from before the constructor, for programs that are started.
  const sigset_t& original_mask() const noexcept { return original_; }

 private:
  void wait(clock::time_point until);
  void handle_signals();
  void run_posts();

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
