// The state that the parts of one contender share: the session, the request, the listener, and the
// events that interrupt the contender.
//
// All members are used inside a session_context::scope.
#pragma once

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "recipes/lock_request.hpp"
#include "recipes/request.hpp"
#include "recipes/session_context.hpp"
#include "recipes/task.hpp"
#include "recipes/wakeup.hpp"

namespace conclave::recipes {

// The delay before a refused request is sent again. The server may refuse a request, or the client
// may refuse it because the backlog is full.
inline constexpr std::chrono::milliseconds retry_delay{10};
// If the server refuses a request again and again, for example because of an ACL, the delay grows
// up to this limit.
inline constexpr std::chrono::seconds longest_retry_delay{1};

class contender_context {
 public:
  contender_context(std::shared_ptr<session_context> context,
                    std::shared_ptr<const lock_request> request,
                    std::shared_ptr<contender_events> e)
      : session_{std::move(context)}, request_{std::move(request)}, listener_{std::move(e)} {}

  // `owner` is the contender. Pending requests keep it alive.
  void set_owner(std::weak_ptr<void> owner) { owner_ = std::move(owner); }
  const std::weak_ptr<void>& owner() const noexcept { return owner_; }

  const std::shared_ptr<session_context>& shared_session() const noexcept { return session_; }
  session_context& session() const noexcept { return *session_; }
  const requests::defaults& defaults() const noexcept { return session_->defaults(); }

  const lock_request& request() const noexcept { return *request_; }
  // Replaces the request with a copy that has this role.
  void set_role(layout::role r) {
    auto changed_request = *request_;
    changed_request.role = r;
    request_ = std::make_shared<const lock_request>(std::move(changed_request));
  }

  // --- events

  contender_events& events() const noexcept {
    static silent_events silent;
    return muted_ ? silent : *listener_;
  }
  // After this call only gone() is reported.
  void mute() noexcept { muted_ = true; }
  void report_gone() const { listener_->gone(); }

  // --- the session in which the nodes are created

  std::int64_t session_id = 0;  // 0 if unknown
  binding in_session() const noexcept { return {session_id, 0}; }
  void begin_session() {
    session_id = 0;
    session_end_.reset();
  }

  // --- interruption

  bool release_requested() const noexcept { return release_requested_; }
  bool session_ended() const noexcept { return session_end_.has_value(); }
  bool interrupted() const noexcept { return release_requested_ || session_ended(); }
  error_code interruption() const noexcept {
    if (release_requested_) return cancelled();
    return session_end_.value_or(errc::session_expired);
  }
  errc session_end() const noexcept { return session_end_.value_or(errc::session_expired); }
  void request_release() noexcept { release_requested_ = true; }
  void end_session(errc why) noexcept {
    if (!session_end_) session_end_ = why;
  }
  void end_session_if_dead(const error_code& ec) noexcept {
    if (is_session_end(ec)) end_session(errc::session_expired);
  }

  // --- for the coroutines of the contender

  // The contender's coroutines await this object. It is notified when an event arrives, when the
  // session ends and when a release is requested.
  wakeup changed;

  template <class Result>
  pending_reply<Result> send(requests::request<Result> r, binding where,
                             std::optional<session::on_disconnect> rule = {}) const {
    return recipes::send(session_, owner_.lock(), std::move(r), where, rule);
  }

  // Waits for this duration, or until the session ends.
  task<> pause(duration d) {
    const auto until = session_->now() + d;
    session_->call_at(until, [this, weak = owner_] {
      if (const auto alive = weak.lock()) changed.notify();
    });
    const auto alive = owner_.lock();  // the coroutine may be the only owner of the contender
    while (session_->now() < until && !session_ended()) co_await changed;
    co_return done;
  }

  // Waits until the callbacks posted so far have run, or until the session ends.
  task<> callbacks_done() {
    const auto alive = owner_.lock();
    const auto called = std::make_shared<bool>(false);
    session_->call_soon([this, weak = owner_, called] {
      *called = true;
      if (const auto still_alive = weak.lock()) changed.notify();
    });
    while (!*called && !session_ended()) co_await changed;
    co_return done;
  }

 private:
  struct silent_events final : contender_events {
    void granted() override {}
    void failed(error_code) override {}
  };

  std::shared_ptr<session_context> session_;
  std::shared_ptr<const lock_request> request_;  // contenders with the same request share it
  std::shared_ptr<contender_events> listener_;
  std::weak_ptr<void> owner_;
  std::optional<errc> session_end_;
  bool release_requested_ = false;
  bool muted_ = false;
};

}  // namespace conclave::recipes
