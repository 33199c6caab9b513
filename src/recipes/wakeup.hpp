// Lets one coroutine of a recipe wait for the next notification.
#pragma once

#include <coroutine>
#include <utility>

namespace conclave::recipes {

class wakeup {
 public:
  // Resumes the waiting coroutine. If no coroutine waits, the next co_await returns at once.
  void notify() {
    notified_ = true;
    if (const auto h = std::exchange(waiting_coroutine_, {})) h.resume();
  }

  bool await_ready() const noexcept { return notified_; }
  void await_suspend(std::coroutine_handle<> h) noexcept { waiting_coroutine_ = h; }
  void await_resume() noexcept { notified_ = false; }

 private:
  bool notified_ = false;
  std::coroutine_handle<> waiting_coroutine_;
};

}  // namespace conclave::recipes
