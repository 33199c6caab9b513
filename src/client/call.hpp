// Passes each call from its caller to the session or to a recipe, and passes the result back to the
// caller.
//
// - The receiver of a result is a completion handler or a blocked thread. `recipient` passes the
//   result to the receiver.
// - Operations of the client go to the session (operations.cpp).
// - Calls to locks, queues and elections go to a recipe: start_in_recipes() and start_waiting().
// - run_blocking() blocks a thread until its call has completed.
//
// In a forked child process every call completes with errc::forked, and in_recipes() does nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>

#include "client/core.hpp"
#include "conclave/detail/locking.hpp"
#include "runtime/one_shot.hpp"

namespace conclave::client_impl {

using detail::at_once;
using detail::deadline;
using detail::no_deadline;

// The type in which a result is stored. For void, this is std::monostate.
template <class Result>
using stored = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;

// A call that was made by a blocked thread, and its result. It lives on the stack of that thread.
template <class Result>
struct blocking_call {
  runtime::one_shot done;
  error_code ec;
  stored<Result> result{};
  std::string why;  // explains the error, or is empty
  // Makes the call complete early with this error, unless it has already completed. Set by
  // start_waiting().
  std::function<void(error_code)> give_up;
};

// --- results

template <class Result>
void call_handler(handler<Result> h, error_code ec, stored<Result> result) {
  if constexpr (std::is_void_v<Result>)
    std::move(h)(ec);
  else
    std::move(h)(ec, std::move(result));
}

// Passes the result of a call to its receiver. The receiver is a handler, which runs on its
// executor, or a blocked thread.
template <class Result>
class recipient {
 public:
  recipient(runtime::io_loop& loop, receiver<Result> to) : loop_{loop}, to_{std::move(to)} {
    if (auto* h = std::get_if<handler<Result>>(&to_))
      work_.emplace(boost::asio::make_work_guard(*h, fallback()));
  }

  // Returns the call of the blocked thread, or null if the receiver is a handler.
  blocking_call<Result>* blocked() const noexcept {
    const auto* const waiting = std::get_if<blocking_call<Result>*>(&to_);
    return waiting == nullptr ? nullptr : *waiting;
  }

  // Must be called exactly once.
  void complete(error_code ec, stored<Result> result) noexcept {
    if (auto* const waiting = blocked()) {
      waiting->ec = ec;
      waiting->result = std::move(result);
      return waiting->done.set();
    }
    // Most handlers have no executor of their own, so dispatch() calls them directly on the I/O
    // thread. All other handlers run on their own executor, to which dispatch() passes them with
    // the result.
    auto& h = std::get<handler<Result>>(to_);
    const auto executor =
        loop_.in_child() ? boost::asio::get_associated_executor(h, boost::asio::system_executor{})
                         : boost::asio::get_associated_executor(h, fallback());
    boost::asio::dispatch(executor, [h = std::move(h), ec, result = std::move(result)]() mutable {
      call_handler<Result>(std::move(h), ec, std::move(result));
    });
    work_.reset();
  }

  // Connects `f` to the handler's cancellation slot, if the handler has one. Must be called before
  // the call can complete, because completion destroys the handler and its slot.
  template <class F>
  void on_cancel(F f) {
    auto* h = std::get_if<handler<Result>>(&to_);
    if (h == nullptr) return;
    auto slot = boost::asio::get_associated_cancellation_slot(*h);
    if (slot.is_connected())
      slot.assign([f = std::move(f)](boost::asio::cancellation_type) { f(); });
  }

 private:
  using work_guard = decltype(boost::asio::make_work_guard(
      std::declval<const handler<Result>&>(),
      std::declval<boost::asio::io_context::executor_type>()));

  auto fallback() const { return loop_.io().get_executor(); }

  runtime::io_loop& loop_;
  receiver<Result> to_;
  std::optional<work_guard> work_;  // keeps the handler's execution context running
};

// --- calls to a recipe

using scope = recipes::session_context::scope;

// The error of a call that was cancelled, or whose object was destroyed.
inline error_code aborted() { return boost::asio::error::operation_aborted; }
// The error of a call that acquired nothing: it does not wait, its deadline has passed, or a stop
// was requested. If the result type can express this, the call returns an empty result instead.
inline error_code not_acquired() { return errc::lock_busy; }

// Calls `f` inside a session_context::scope. In a forked child process, returns a default value
// instead. A thread of the parent may have held the mutex during the fork, and the child would wait
// for it forever.
template <class F>
auto in_recipes(const core_pointer& core, F f) -> std::invoke_result_t<F> {
  if (core->forked()) return std::invoke_result_t<F>();
  const scope inside{*core->recipes};
  return f();
}

// A pending call to a recipe.
template <class Result>
class recipe_call {
 public:
  recipe_call(const core_pointer& core, receiver<Result> to)
      : context_{core->recipes}, to_{core->driver->loop(), std::move(to)} {}

  bool blocking() const noexcept { return to_.blocked() != nullptr; }

  // Called once, outside of a scope.
  void complete(error_code ec, stored<Result> result = {}, std::string why = {}) {
    if (timer_) {
      const scope inside{*context_};
      context_->cancel(*timer_);
    }
    if (auto* const waiting = to_.blocked()) waiting->why = std::move(why);
    to_.complete(ec, std::move(result));
  }

  // Lets the call give up at the deadline and when it is cancelled. If the call has a completion
  // handler, `give_up` is then called inside a scope. A blocked thread checks its deadline itself
  // and calls blocking_call::give_up. This function is called inside the scope that starts the
  // call, so the call cannot complete before this function returns.
  void allow_giving_up(deadline d, std::function<void(error_code)> give_up) {
    auto enter = [context = context_, give_up](error_code why) {
      const scope inside{*context};
      give_up(why);
    };
    if (auto* const waiting = to_.blocked()) {
      waiting->give_up = std::move(enter);
      return;
    }
    to_.on_cancel([enter = std::move(enter)] { enter(aborted()); });
    if (d == at_once || d == no_deadline) return;
    timer_ = context_->call_at(boot_clock::now() + (d - std::chrono::steady_clock::now()),
                               [give_up = std::move(give_up)] { give_up(not_acquired()); });
  }

 private:
  std::shared_ptr<recipes::session_context> context_;
  recipient<Result> to_;
  std::optional<recipes::session_context::timer> timer_;
};

template <class Result>
using recipe_call_ptr = std::shared_ptr<recipe_call<Result>>;

// Starts a call to a recipe. begin(call) runs inside a scope and must complete the call,
// immediately or later.
template <class Result, class Begin>
void start_in_recipes(const core_pointer& core, receiver<Result> to, Begin begin) {
  const auto call = std::make_shared<recipe_call<Result>>(core, std::move(to));
  if (core->forked()) return call->complete(errc::forked);
  scope inside{*core->recipes};
  begin(call);
  if (call->blocking()) return;
  // A handler must not run before the function that started the call has returned.
  auto calls = inside.end();
  if (calls.empty()) return;
  boost::asio::post(core->driver->loop().io(), [calls = std::move(calls)] {
    for (const auto& f : calls) f();
  });
}

// Like start_in_recipes(), but for a call that may wait. begin(call) returns a function that makes
// the call complete early with the given error, unless the call has already completed. That
// function is called inside a scope.
template <class Result, class Begin>
void start_waiting(const core_pointer& core, receiver<Result> to, deadline d, Begin begin) {
  start_in_recipes<Result>(core, std::move(to), [&](const recipe_call_ptr<Result>& call) {
    call->allow_giving_up(d, begin(call));
  });
}

// --- blocking calls

// Calls start(receiver) and blocks this thread until the call completes, the deadline passes or a
// stop is requested. Throws conclave::error if the call fails or if this thread must not block.
// Keeps the core alive, because another thread may destroy the lock or queue while this thread is
// blocked.
template <class Result, class Start>
Result run_blocking(const std::string& what, const core_pointer core, Start start,
                    deadline d = no_deadline, std::stop_token stop = {}) {
  core->require_may_block(what);
  blocking_call<Result> call;
  start(receiver<Result>{&call});
  {
    const std::stop_callback on_stop{std::move(stop), [&] { call.give_up(not_acquired()); }};
    if (d != at_once && d != no_deadline && !call.done.wait_until(d)) call.give_up(not_acquired());
    call.done.wait();
  }
  if constexpr (std::is_same_v<Result, transaction_result>) {
    if (const auto i = call.result.failed_part(); call.ec && i)
      throw transaction_error{call.ec, what + ": part " + std::to_string(*i), call.result, *i};
  }
  if (call.ec) core->fail(call.ec, what, std::move(call.why));
  if constexpr (!std::is_void_v<Result>) return std::move(call.result);
}

// Runs an operation of the client, such as &detail::start_get, as a blocking call.
template <class Result, class... Parameters, class... Arguments>
Result block(const std::string& what, const core_pointer& core,
             void (*start)(const core_pointer&, receiver<Result>, Parameters...),
             Arguments&&... arguments) {
  return run_blocking<Result>(what, core, [&](receiver<Result> to) {
    start(core, std::move(to), static_cast<Parameters>(std::forward<Arguments>(arguments))...);
  });
}

}  // namespace conclave::client_impl
