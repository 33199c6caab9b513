// The state behind conclave::hold. It is written inside a session_context::scope and read by any
// thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "recipes/session_context.hpp"

namespace conclave::recipes {

class hold_state {
 public:
  explicit hold_state(const std::shared_ptr<session_context>& context) : clock_{context->clock()} {}

  // `id` is the id in the data of the nodes.
  void begin(std::int64_t token, std::int64_t session, std::vector<std::string> nodes,
             std::string id) {
    token_ = token;
    session_ = session;
    move_to(std::move(nodes), std::move(id));
    status_.store(status::held, std::memory_order_release);
  }
  // Replaces the nodes of the hold. The hold itself continues.
  void move_to(std::vector<std::string> nodes, std::string id) {
    const std::lock_guard lock{nodes_mutex_};
    nodes_ = std::move(nodes);
    id_ = std::move(id);
  }
  void suspend(bool on) {
    auto expected = on ? status::held : status::suspended;
    status_.compare_exchange_strong(expected, on ? status::suspended : status::held);
  }
  // Returns true if the hold was in the state held or suspended before this call.
  bool release() {
    const auto before = status_.exchange(status::ended);
    return before == status::held || before == status::suspended;
  }
  void lose(const error_code& why) {
    why_lost_ = why.value();
    release();
  }
  std::stop_source& loss() noexcept { return lost_; }

  // --- may be called from any thread

  bool began() const noexcept { return current() != status::none; }
  // Returns true if the hold was released or lost, or never began.
  bool ended() const noexcept { return current() == status::ended || current() == status::none; }
  bool suspended() const noexcept { return current() == status::suspended; }
  std::stop_token lost() const noexcept { return lost_.get_token(); }
  // Returns an empty error_code unless the hold was lost.
  error_code why_lost() const noexcept {
    const auto value = why_lost_.load();
    return value == 0 ? error_code{} : error_code{static_cast<errc>(value)};
  }
  std::int64_t token() const noexcept { return began() ? token_ : 0; }
  std::int64_t session() const noexcept { return began() ? session_ : 0; }
  // Valid once the hold has begun.
  std::vector<std::string> nodes() const {
    const std::lock_guard lock{nodes_mutex_};
    return nodes_;
  }
  std::string id() const {
    const std::lock_guard lock{nodes_mutex_};
    return id_;
  }

  // Returns the time until which the lock is certainly held, or time_point::min() if it is not
  // held.
  time_point deadline() const noexcept {
    const auto s = current();
    if (s != status::held && s != status::suspended) return time_point::min();
    const auto session = clock_->session();
    return session.id == session_ ? session.deadline : time_point::min();
  }
  duration remaining() const noexcept {
    const auto until = deadline();
    const auto at = clock_->now();
    return until > at ? until - at : duration{0};
  }

 private:
  enum class status { none, held, suspended, ended };
  status current() const noexcept { return status_.load(std::memory_order_acquire); }

  std::shared_ptr<const session_clock> clock_;
  std::atomic<status> status_{status::none};
  std::atomic<int> why_lost_{0};  // an errc
  std::int64_t token_ = 0;
  std::int64_t session_ = 0;
  mutable std::mutex nodes_mutex_;
  std::vector<std::string> nodes_;
  std::string id_;
  std::stop_source lost_;
};

// Returns the error for a call that needs this hold after the hold was lost.
inline error_code refusal_of(const hold_state& lost) {
  return lost.why_lost() == errc::closed ? errc::closed : errc::lock_lost;
}

}  // namespace conclave::recipes
