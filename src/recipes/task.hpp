// The coroutine type of the recipes. A task runs when it is first awaited or started, and continues
// on the thread that delivers its replies. It is never posted to an executor.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

namespace conclave::recipes {

// Recipes report errors as values. An exception that leaves a task is a bug or an out-of-memory
// condition and terminates the program.
template <class T = std::monostate>
class [[nodiscard]] task {
 public:
  struct promise_type;
  using handle = std::coroutine_handle<promise_type>;

  struct promise_base {
    std::coroutine_handle<> after;  // the coroutine that awaits this task

    std::suspend_always initial_suspend() const noexcept { return {}; }
    struct back {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(handle h) const noexcept {
        return h.promise().after ? h.promise().after : std::noop_coroutine();
      }
      void await_resume() const noexcept {}
    };
    back final_suspend() const noexcept { return {}; }
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };

  struct promise_type : promise_base {
    std::optional<T> result;
    task get_return_object() { return task{handle::from_promise(*this)}; }
    void return_value(T value) { result.emplace(std::move(value)); }
  };

  task() = default;
  task(task&& other) noexcept : handle_{std::exchange(other.handle_, {})} {}
  task& operator=(task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~task() {
    if (handle_) handle_.destroy();
  }

  // Runs the task up to its first suspension. Call it only for the outermost task, which no
  // coroutine awaits.
  void start() { handle_.resume(); }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().after = caller;
    return handle_;
  }
  T await_resume() { return std::move(*handle_.promise().result); }

 private:
  explicit task(handle h) : handle_{h} {}
  handle handle_;
};

inline constexpr std::monostate done{};

}  // namespace conclave::recipes
