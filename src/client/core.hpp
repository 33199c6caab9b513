// What a client consists of, and how a call becomes an operation of its session.
#pragma once

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

#include "conclave/client.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/session_driver.hpp"
#include "session/operation.hpp"

namespace conclave::detail {

struct client_core {
  std::shared_ptr<runtime::io_thread> thread;
  std::shared_ptr<runtime::session_driver> driver;
  std::string chroot;
  acl default_acl;
  bool open_by_default = false;  // neither an ACL nor credentials were given
  log_callback log;
  std::atomic<bool> open_acl_told{false};
};

// Results of operations that have none.
template <class Result>
using stored = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;

// Where a blocking call waits; lives on its stack.
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

// An operation of the user's: reads its answer with `Read` and brings it to the receiver.
// Read: bool(const wire::reply_header&, wire::reader&, stored<Result>&).
template <class Result, class Read>
class call final : public session::operation {
 public:
  call(wire::opcode type, session::on_cut rule, runtime::io_loop& loop, receiver<Result> to,
       Read read)
      : operation{type, rule}, loop_{loop}, to_{std::move(to)}, read_{std::move(read)} {
    if (auto* h = std::get_if<handler<Result>>(&to_))
      work_.emplace(boost::asio::make_work_guard(*h, fallback()));
  }

  bool read_answer(const wire::reply_header& header, wire::reader& body) override {
    return read_(header, body, result_) && body.ok();
  }

  error_code verdict(error_code answered) const noexcept override {
    if constexpr (std::is_same_v<Result, transaction_result>) {
      if (const auto failed = result_.failed_part()) return result_.parts[*failed].ec;
    }
    // A missing node is an answer to exists; a watch that the server has not got is as removed as
    // can be (its event was under way).
    const bool fine = (type() == wire::opcode::exists && answered == errc::no_node) ||
                      (type() == wire::opcode::remove_watches && answered == errc::no_watcher);
    return fine ? error_code{} : answered;
  }

  void complete(error_code ec) noexcept override {
    if (auto* waiting = std::get_if<blocking_call<Result>*>(&to_)) {
      (*waiting)->ec = ec;
      (*waiting)->result = std::move(result_);
      return (*waiting)->done.set();
    }
    // Most handlers have no executor of their own and are called right here; the others are
    // handed over with their result.
    auto& h = std::get<handler<Result>>(to_);
    const auto executor =
        loop_.in_child() ? boost::asio::get_associated_executor(h, boost::asio::system_executor{})
                         : boost::asio::get_associated_executor(h, fallback());
    boost::asio::dispatch(executor, [h = std::move(h), ec, result = std::move(result_)]() mutable {
      call_handler<Result>(std::move(h), ec, std::move(result));
    });
    work_.reset();
  }

  // Lets the handler's cancellation slot reach this operation. Before it is submitted: afterwards
  // the handler, and the slot with it, may already be gone.
  void connect_cancellation(const std::shared_ptr<runtime::session_driver>& driver) {
    auto* h = std::get_if<handler<Result>>(&to_);
    if (h == nullptr) return;
    auto slot = boost::asio::get_associated_cancellation_slot(*h);
    if (!slot.is_connected()) return;
    slot.assign([weak = std::weak_ptr{driver}, id = id()](boost::asio::cancellation_type) {
      if (const auto d = weak.lock()) d->cancel(id);
    });
  }

  bool blocking() const noexcept { return to_.index() == 1; }

 private:
  using work_guard = decltype(boost::asio::make_work_guard(
      std::declval<const handler<Result>&>(),
      std::declval<boost::asio::io_context::executor_type>()));

  auto fallback() const { return loop_.io().get_executor(); }

  runtime::io_loop& loop_;
  receiver<Result> to_;
  Read read_;
  stored<Result> result_{};
  std::optional<work_guard> work_;  // keeps the handler's execution context running
};

}  // namespace conclave::detail
