// Calls a function that may block, for example to ask a server, on a thread of its own. The callers
// read the last result and never wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "web/moment.hpp"

namespace conclave::web {

template <class Result>
class background_query {
 public:
  using clock = std::chrono::steady_clock;

  struct intervals {
    clock::duration normal;         // between two calls
    clock::duration after_failure;  // after a call that returned nothing or threw
  };
  struct answer {
    moment asked_at = 0;  // when the function was called
    Result result;
  };

  // `ask` returns nothing if it has no result. `on_answer` is called after each result, on the
  // thread of the query. If `ask` is empty, there are no results.
  background_query(std::function<std::optional<Result>()> ask, intervals pauses,
                   std::function<void()> on_answer)
      : ask_{std::move(ask)}, pauses_{pauses}, on_answer_{std::move(on_answer)} {
    if (ask_) thread_ = std::jthread{[this](const std::stop_token& s) { run(s); }};
  }

  // Requests a new result. Several requests during a pause cause one call.
  void request() {
    const std::lock_guard lock{mutex_};
    if (std::exchange(is_requested_, true)) return;
    changed_.notify_all();
  }
  // Returns the last result, or nullptr if there is none.
  std::shared_ptr<const answer> last() const {
    const std::lock_guard lock{mutex_};
    return last_;
  }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      {
        std::unique_lock lock{mutex_};
        if (!changed_.wait(lock, stop, [this] { return is_requested_; })) return;
        is_requested_ = false;
      }
      const bool is_answered = ask();
      std::unique_lock lock{mutex_};
      const auto pause = is_answered ? pauses_.normal : pauses_.after_failure;
      changed_.wait_for(lock, stop, pause, [] { return false; });
      if (stop.stop_requested()) return;
    }
  }

  bool ask() {
    const auto at = now();
    try {
      auto result = ask_();
      if (!result) return false;
      auto found = std::make_shared<const answer>(answer{at, std::move(*result)});
      {
        const std::lock_guard lock{mutex_};
        last_ = std::move(found);
      }
      if (on_answer_) on_answer_();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  const std::function<std::optional<Result>()> ask_;
  const intervals pauses_;
  const std::function<void()> on_answer_;
  mutable std::mutex mutex_;  // for the next two members
  bool is_requested_ = false;
  std::shared_ptr<const answer> last_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // the last member, because the thread uses the others
};

}  // namespace conclave::web
