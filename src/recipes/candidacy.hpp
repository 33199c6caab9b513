// The steps of a candidate as its user sees them: what its attempts tell, as election events.
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
  // `tell` is called inside the scope, and may be empty.
  explicit candidacy(std::function<void(election_event)> tell) : tell_{std::move(tell)} {}

  void follow(const progress& p);

  // From any thread.
  election_state state() const noexcept { return state_.load(std::memory_order_acquire); }

 private:
  using kind = election_event::kind;

  void enter(election_state s) { state_.store(s, std::memory_order_release); }
  void say(kind k, const progress& p) const {
    if (tell_) tell_({k, p.node, p.why});
  }

  std::function<void(election_event)> tell_;
  std::atomic<election_state> state_{election_state::stop};
  bool ready_told_ = false;  // completely
};

}  // namespace conclave::recipes
