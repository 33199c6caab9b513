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
  // `report` receives the events, inside a session_context::scope. It may be empty.
  explicit candidacy(std::function<void(election_event)> report) : report_{std::move(report)} {}

  void follow(const progress& p);

  // May be called from any thread.
  election_state state() const noexcept { return state_.load(std::memory_order_acquire); }

 private:
  using kind = election_event::kind;

  void determine(const progress& p);
  void enter(election_state s) { state_.store(s, std::memory_order_release); }
  void report(kind k, const progress& p) const {
    if (report_) report_({k, p.node, p.why});
  }

  std::function<void(election_event)> report_;
  std::atomic<election_state> state_{election_state::stop};
  bool ready_reported_ = false;  // ready_complete was reported in this ready state
};

}  // namespace conclave::recipes
