// Converts the progress of a candidate's attempts into the election events that the user sees.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "conclave/election_event.hpp"
#include "recipes/lock_object.hpp"

namespace conclave::recipes {

class candidacy {
 public:
  // `tell` receives the events, inside a session_context::scope. It may be empty.
  explicit candidacy(std::function<void(election_event)> tell) : tell_{std::move(tell)} {}

  void follow(const progress& p);

  // May be called from any thread.
  election_state state() const noexcept { return state_.load(std::memory_order_acquire); }

 private:
  using kind = election_event::kind;

  void enter(election_state s) { state_.store(s, std::memory_order_release); }
  void say(kind k, const progress& p) const {
    if (tell_) tell_({k, p.node, p.why});
  }

  std::function<void(election_event)> tell_;
  std::atomic<election_state> state_{election_state::stop};
  bool ready_told_ = false;  // ready_complete was reported in this ready state
};

}  // namespace conclave::recipes
