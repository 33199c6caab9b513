// The parts of a client, and the conversion of a call into an operation of the session.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/system_executor.hpp>

#include "client/recipe_context.hpp"
#include "conclave/client.hpp"
#include "recipes/hold_state.hpp"
#include "requests/requests.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/session_driver.hpp"
#include "session/operation.hpp"
#include "session/paths.hpp"

namespace conclave::detail {

struct client_core {
  std::shared_ptr<runtime::io_thread> thread;
  std::shared_ptr<runtime::session_driver> driver;
  std::shared_ptr<const requests::defaults> defaults;
  bool open_by_default = false;  // the user gave neither an ACL nor credentials
  log_callback log;
  std::atomic<bool> open_acl_told{false};
  std::shared_ptr<recipe_context> recipes;  // used by locks, semaphores, elections and queues
};

struct core_access {
  static const core_pointer& of(const client& c) { return c.core_; }
};

// The result type as a variable can store it: std::monostate stands for void.
template <class Result>
using stored = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;

// The result of a blocking call. It lives on the stack of the waiting thread.
template <class Result>
struct blocking_call {
  runtime::one_shot done;
  error_code ec;
  stored<Result> result{};
};

template <class Result>
void call_handler(handler<Result> h, error_code ec, stored<Result> result) {
  if constexpr (std::is_void_v<Result>)
    std::move(h)(ec);
  else
    std::move(h)(ec, std::move(result));
}

// Receives the result of a call: either a handler, called on its executor, or a blocked thread.
template <class Result>
class recipient {
 public:
  recipient(runtime::io_loop& loop, receiver<Result> to) : loop_{loop}, to_{std::move(to)} {
    if (auto* h = std::get_if<handler<Result>>(&to_))
      work_.emplace(boost::asio::make_work_guard(*h, fallback()));
  }

  bool blocking() const noexcept { return to_.index() == 1; }

  // Must be called exactly once.
  void tell(error_code ec, stored<Result> result) noexcept {
    if (auto* waiting = std::get_if<blocking_call<Result>*>(&to_)) {
      (*waiting)->ec = ec;
      (*waiting)->result = std::move(result);
      return (*waiting)->done.set();
    }
    // Most handlers have no executor of their own, so dispatch() calls them directly on the I/O
    // thread. It passes the others to their executor with the result.
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
  // the operation starts: a completed operation has destroyed the handler and its slot.
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

// An operation started by the user. It parses the reply and passes the result to the receiver.
template <class Result>
class call final : public session::operation {
 public:
  call(const core_pointer& core, receiver<Result> to, requests::request<stored<Result>> r)
      : operation{r.type, r.rule},
        defaults_{core->defaults},
        to_{core->driver->loop(), std::move(to)},
        read_{r.read} {
    frame = std::move(r.frame);
    watch = std::move(r.watch);
  }

  bool read_reply(const wire::reply_header& header, wire::reader& body) override {
    return read_(*defaults_, header, body, result_) && body.ok();
  }
  error_code verdict(error_code answered) const noexcept override {
    return requests::verdict(type(), answered, result_);
  }
  void complete(error_code ec) noexcept override {
    // The operation is bound to the session of its locks. In another session it is not sent.
    if (!holds_.empty() && ec == errc::session_expired) ec = errc::lock_lost;
    to_.tell(ec, std::move(result_));
  }
  error_code why_refused() const noexcept override {
    for (const auto& h : holds_)
      if (h->over()) return errc::lock_lost;
    return {};
  }

  // Binds the operation to these holds: it is sent only in their session and only while they are
  // held. Returns false if the holds have different sessions or one of them is not held.
  bool only_under(transaction::holds all) {
    bound_to.session = all.front()->session();
    holds_ = std::move(all);
    return std::all_of(holds_.begin(), holds_.end(), [&](const auto& h) {
      return h->session() == bound_to.session && h->remaining() > recipes::duration{0};
    });
  }

  void connect_cancellation(const std::shared_ptr<runtime::session_driver>& driver) {
    to_.on_cancel([weak = std::weak_ptr{driver}, id = id()] {
      if (const auto d = weak.lock()) d->cancel(id);
    });
  }
  bool blocking() const noexcept { return to_.blocking(); }

 private:
  std::shared_ptr<const requests::defaults> defaults_;  // the operation can outlive its client
  recipient<Result> to_;
  typename requests::request<stored<Result>>::reader read_;
  stored<Result> result_{};
  transaction::holds holds_;
};

}  // namespace conclave::detail
