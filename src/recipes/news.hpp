// What a coroutine of a recipe waits for when it waits for whatever comes next: an event, a new
// caller, the end of something.
#pragma once

#include <coroutine>
#include <utility>

namespace conclave::recipes {

class news {
 public:
  // News that nobody waited for are kept: the next wait is over at once.
  void poke() {
    poked_ = true;
    if (const auto h = std::exchange(sleeper_, {})) h.resume();
  }

  bool await_ready() const noexcept { return poked_; }
  void await_suspend(std::coroutine_handle<> h) noexcept { sleeper_ = h; }
  void await_resume() noexcept { poked_ = false; }

 private:
  bool poked_ = false;
  std::coroutine_handle<> sleeper_;
};

}  // namespace conclave::recipes
