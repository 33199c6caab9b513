// What a coroutine of a recipe waits for when it waits for whatever comes next: an event, a new
// caller, the end of something.
#pragma once

#include <coroutine>
#include <utility>

namespace conclave::recipes {

class wakeup {
 public:
  // News that nobody waited for are kept: the next wait is over at once.
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
