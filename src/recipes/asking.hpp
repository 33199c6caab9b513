// A request of a recipe, under way. Made, it is sent; awaited, it gives the answer.
//
//   const auto made = ask(port, self, requests::create(...));
//   const auto read = ask(port, self, requests::get(...));   // behind it, without waiting
//   const auto created = co_await made;
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include "recipes/port.hpp"

namespace conclave::recipes {

template <class Result>
struct answer {
  error_code ec;
  Result value;
  place sent_in;  // where it was last sent
};

template <class Result>
class asking {
 public:
  struct state {
    std::optional<answer<Result>> got;
    std::coroutine_handle<> waiting;
  };
  explicit asking(std::shared_ptr<state> s) : state_{std::move(s)} {}

  bool await_ready() const noexcept { return state_->got.has_value(); }
  void await_suspend(std::coroutine_handle<> h) const noexcept { state_->waiting = h; }
  answer<Result> await_resume() const { return std::move(*state_->got); }

 private:
  std::shared_ptr<state> state_;
};

template <class Result>
class recipe_operation final : public session::operation {
 public:
  using state = typename asking<Result>::state;

  recipe_operation(std::shared_ptr<port> p, std::shared_ptr<void> asker,
                   requests::request<Result> r, session::on_cut rule)
      : operation{r.type, rule}, port_{std::move(p)}, asker_{std::move(asker)}, read_{r.read} {
    frame = std::move(r.frame);
    watch = std::move(r.watch);
  }

  bool read_answer(const wire::reply_header& header, wire::reader& body) override {
    return read_(port_->defaults(), header, body, result_) && body.ok();
  }
  error_code verdict(error_code answered) const noexcept override {
    return requests::verdict(type(), answered, result_);
  }
  void complete(error_code ec) noexcept override {
    const port::entry inside{*port_};
    state_->got.emplace(answer<Result>{ec, std::move(result_), sent_in});
    if (const auto h = std::exchange(state_->waiting, {})) h.resume();
    asker_.reset();  // it may end here, inside
  }

  const std::shared_ptr<state>& shared() const noexcept { return state_; }

 private:
  std::shared_ptr<port> port_;
  std::shared_ptr<void> asker_;  // whose coroutine goes on with the answer
  typename requests::request<Result>::reader read_;
  Result result_{};
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

// `where`: the session and connection in which alone it may be sent. A read is repeated after a
// cut, unless it is bound to a connection. It is sent even if the backlog is full, or while the
// user gathers requests in a batch: recipes have few under way and cannot go on without. Its answer
// may have any size: recipes list whatever the server has accepted.
template <class Result>
asking<Result> ask(const std::shared_ptr<port>& p, std::shared_ptr<void> asker,
                   requests::request<Result> r, place where = {},
                   std::optional<session::on_cut> rule = {}) {
  const auto refused = r.refused;
  const auto on_cut = rule ? *rule : where.connection != 0 ? session::on_cut::fail : r.rule;
  auto op = std::make_unique<recipe_operation<Result>>(p, std::move(asker), std::move(r), on_cut);
  op->only_in = where;
  op->beyond_limits = op->at_once = true;
  op->max_reply_bytes = session::operation::any_reply;
  auto state = op->shared();
  if (refused)
    state->got.emplace(answer<Result>{refused, {}, {}});
  else
    p->submit(std::move(op));
  return asking<Result>{std::move(state)};
}

}  // namespace conclave::recipes
