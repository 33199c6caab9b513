// A pending request of a recipe. send() sends it at once; co_await returns the reply.
//
//   const auto creating = send(context, self, requests::create(...));
//   const auto reading = send(context, self, requests::get(...));  // does not wait for the first
//   const auto created = co_await creating;
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include "recipes/large_request.hpp"
#include "recipes/session_context.hpp"
#include "recipes/wakeup.hpp"

namespace conclave::recipes {

template <class Result>
struct reply {
  error_code ec;
  Result value;
  binding sent_on;  // the connection on which the request was last sent
  // True if the connection was lost, perhaps because the server does not accept such a large
  // request.
  bool may_be_too_large = false;
};

template <class Result>
class pending_reply {
 public:
  struct state {
    std::optional<reply<Result>> got;
    std::coroutine_handle<> waiting;
    wakeup* notified = nullptr;
  };
  explicit pending_reply(std::shared_ptr<state> s) : state_{std::move(s)} {}

  bool await_ready() const noexcept { return state_->got.has_value(); }
  void await_suspend(std::coroutine_handle<> h) const noexcept { state_->waiting = h; }
  reply<Result> await_resume() const { return std::move(*state_->got); }

  // Makes the arrival of the reply notify `w` if no coroutine awaits the reply. To wait for the
  // reply or for another event, whichever comes first, a coroutine awaits `w`. `w` must live as
  // long as the recipe that sent the request.
  void notify(wakeup& w) const noexcept { state_->notified = &w; }

 private:
  std::shared_ptr<state> state_;
};

template <class Result>
class recipe_operation final : public session::operation {
 public:
  using state = typename pending_reply<Result>::state;

  recipe_operation(std::shared_ptr<session_context> context, std::shared_ptr<void> owner,
                   requests::request<Result> r, session::on_disconnect rule)
      : operation{r.type, rule},
        context_{std::move(context)},
        owner_{std::move(owner)},
        read_{r.read} {
    frame = std::move(r.frame);
    bytes_ = frame.size();
    watch = std::move(r.watch);
    if (watch) watch->owner = session::watch_owner::library;
  }

  bool read_reply(const wire::reply_header& header, wire::reader& body) override {
    return read_(context_->defaults(), header, body, result_) && body.ok();
  }
  error_code verdict(error_code answered) const noexcept override {
    return requests::verdict(type(), answered, result_);
  }
  void complete(error_code ec) noexcept override {
    const session_context::scope inside{*context_};
    const bool suspect = ec == errc::connection_loss && bytes_ > always_accepted_bytes &&
                         context_->suspects(sent_on.connection);
    state_->got.emplace(reply<Result>{ec, std::move(result_), sent_on, suspect});
    if (const auto h = std::exchange(state_->waiting, {}))
      h.resume();
    else if (state_->notified)
      state_->notified->notify();
    owner_.reset();  // may destroy the recipe, inside the scope
  }

  const std::shared_ptr<state>& shared() const noexcept { return state_; }

 private:
  std::shared_ptr<session_context> context_;
  std::size_t bytes_ = 0;
  std::shared_ptr<void> owner_;  // the recipe whose coroutine awaits the reply
  typename requests::request<Result>::reader read_;
  Result result_{};
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

// `where` is the only session and connection in which the request may be sent. After a lost
// connection, a read is sent again, unless it is bound to a connection.
//
// The request is sent even if the backlog is full, and even while the user collects requests in a
// batch. A recipe has few pending requests and cannot continue until they are answered. The size of
// the reply is not limited, because a recipe must list all children, however many there are.
template <class Result>
pending_reply<Result> send(const std::shared_ptr<session_context>& context,
                           std::shared_ptr<void> owner, requests::request<Result> r,
                           binding where = {}, std::optional<session::on_disconnect> rule = {}) {
  const auto refused = r.refused;
  const auto what = rule ? *rule : where.connection != 0 ? session::on_disconnect::fail : r.rule;
  auto op =
      std::make_unique<recipe_operation<Result>>(context, std::move(owner), std::move(r), what);
  op->bound_to = where;
  op->beyond_limits = op->at_once = op->independent = true;
  op->max_reply_bytes = session::operation::any_reply;
  auto state = op->shared();
  if (refused)
    state->got.emplace(reply<Result>{refused, {}, {}});
  else
    context->submit(std::move(op));
  return pending_reply<Result>{std::move(state)};
}

}  // namespace conclave::recipes
