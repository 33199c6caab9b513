#include "conclave/hold.hpp"

#include "recipes/hold_state.hpp"

namespace conclave {

std::int64_t hold::fencing_token() const noexcept { return state_ ? state_->token() : 0; }
std::int64_t hold::session_id() const noexcept { return state_ ? state_->session() : 0; }
bool hold::held() const noexcept { return remaining() > std::chrono::nanoseconds{0}; }
bool hold::suspended() const noexcept { return state_ && state_->suspended(); }

std::chrono::nanoseconds hold::remaining() const noexcept {
  return state_ ? std::chrono::nanoseconds{state_->remaining()} : std::chrono::nanoseconds{0};
}

std::stop_token hold::lost() const noexcept { return state_ ? state_->lost() : std::stop_token{}; }

error_code hold::why_lost() const noexcept { return state_ ? state_->why_lost() : error_code{}; }

std::string hold::node() const {
  return state_ && state_->began() ? state_->nodes().front() : std::string{};
}

std::string hold::id() const { return state_ ? state_->id() : std::string{}; }

transaction hold::fenced(transaction t) const {
  if (!held()) throw error{errc::lock_lost, "fenced: the lock is not held"};
  for (const auto& node : state_->nodes()) t.check(node);
  t.holds_.push_back(state_);
  return t;
}

}  // namespace conclave
