#include "recipes/candidacy.hpp"

namespace conclave {

const char* to_string(election_event::kind k) noexcept {
  using kind = election_event::kind;
  switch (k) {
    case kind::start: return "start";
    case kind::offer_start: return "offer_start";
    case kind::offer_complete: return "offer_complete";
    case kind::determine_start: return "determine_start";
    case kind::determine_complete: return "determine_complete";
    case kind::elected_start: return "elected_start";
    case kind::elected_complete: return "elected_complete";
    case kind::ready_start: return "ready_start";
    case kind::ready_complete: return "ready_complete";
    case kind::failed: return "failed";
    case kind::stop_start: return "stop_start";
    case kind::stop_complete: return "stop_complete";
  }
  return "unknown";
}

const char* to_string(election_state s) noexcept {
  switch (s) {
    case election_state::stop: return "stop";
    case election_state::start: return "start";
    case election_state::offer: return "offer";
    case election_state::determine: return "determine";
    case election_state::ready: return "ready";
    case election_state::elected: return "elected";
    case election_state::failed: return "failed";
  }
  return "unknown";
}

namespace recipes {

// A candidate can find its predecessor, or be elected, without a listing. It may also list several
// times.
void candidacy::determine(const progress& p) {
  if (state() == election_state::determine) return;
  enter(election_state::determine);
  report(kind::determine_start, p);
}

void candidacy::follow(const progress& p) {
  using what = progress::kind;
  using at = election_state;
  switch (p.what) {
    case what::begins: enter(at::start); return report(kind::start, p);
    case what::creating: enter(at::offer); return report(kind::offer_start, p);
    case what::created: return report(kind::offer_complete, p);
    case what::listing: return determine(p);
    case what::waiting:
      determine(p);
      report(kind::determine_complete, p);
      enter(at::ready);
      ready_reported_ = false;
      return report(kind::ready_start, p);
    case what::watching:
      // Report this once, although the contender sets the watch again after a lost connection or a
      // change of the node's data.
      if (state() == at::ready && !std::exchange(ready_reported_, true))
        report(kind::ready_complete, p);
      return;
    case what::granted:
      determine(p);
      report(kind::determine_complete, p);
      enter(at::elected);
      report(kind::elected_start, p);
      return report(kind::elected_complete, p);
    case what::failed:
    case what::lost: enter(at::failed); return report(kind::failed, p);
    case what::releasing: enter(at::stop); return report(kind::stop_start, p);
    case what::gone:  // the next attempt may have begun already
      if (p.released) report(kind::stop_complete, p);
      return;
  }
}

}  // namespace recipes
}  // namespace conclave
