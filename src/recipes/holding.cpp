// How a contender holds what it was granted, and learns that it has lost it.
#include <algorithm>
#include <utility>

#include "recipes/badge.hpp"
#include "recipes/contender.hpp"
#include "recipes/outcome.hpp"

namespace conclave::recipes {
namespace {

// A hold that lasts longer than this watches its own node: it may be deleted by hand.
constexpr auto short_hold = std::chrono::milliseconds{100};

}  // namespace

void contender::become_holder() {
  holding_ = was_holder_ = true;
  watch_over();
  suspended_ = !port_->session().connected;
  if (terms_.wary)
    for (auto& s : seats_) s.own_changed = s.own_changed || !s.own_watch;
  if (quiet_) return;
  events_->granted();
  if (suspended_) events_->suspended();
}

// From now on look() is called in time.
void contender::watch_over() {
  since_ = port_->now();
  port_->keep(*this, std::min(port_->session().deadline, since_ + short_hold));
}

void contender::lose(error_code why) {
  if (!std::exchange(holding_, false)) return;
  leaving_ = true;
  if (!quiet_) events_->lost(why);
  tell_downgraded(errc::lock_lost);  // there may be no connection for long
}

// It holds for so long that it should watch its own nodes, and does not yet: it stood still.
bool contender::overslept() const {
  return was_holder_ && port_->now() >= since_ + 2 * short_hold &&
         std::any_of(seats_.begin(), seats_.end(), [](const seat& s) { return !s.own_watch; });
}

// Until it leaves, or has lost what it held.
task<> contender::hold() {
  while (!leaving_) {
    const auto changed = [](const seat& s) { return s.own_changed; };
    if (session_over_) {
      lose(session_end_);
    } else if (put_out_of_line()) {
      // A server that ends the session deletes its nodes, too: but not before the deadline.
      const auto ended = why_session_may_have_ended();
      lose(ended ? ended : errc::node_deleted);
    } else if (!downgrades_.empty()) {
      const auto ec = co_await become_reader();
      tell_downgraded(ec);
    } else if (std::exchange(check_own_, false)) {
      co_await check_own_nodes();
    } else if (const auto s = std::find_if(seats_.begin(), seats_.end(), changed);
               s != seats_.end()) {
      s->own_changed = false;
      const auto ec = co_await watch_own(*s);
      if (outcome_unknown(ec) && !connection_trouble(ec)) {  // by the server's own word
        s->own_changed = true;
        co_await pause(breath);
      }
    } else {
      co_await news{*this};
    }
  }
  co_return done;
}

// On a new connection: a hold that was suspended goes on only if its nodes are still the same.
task<> contender::check_own_nodes() {
  place where = here();
  for (auto& s : seats_) {
    // All on one connection: between two of them the first may go.
    const auto asked = ask(requests::exists(port_->defaults(), s.path(), {}), where);
    const auto got = co_await asked;
    if (leaving_ || session_over_ || connection_trouble(got.ec)) co_return done;
    if (got.ec) {  // that says nothing about our node
      check_own_ = true;
      co_await pause(breath);
      co_return done;
    }
    if (!got.value || got.value->czxid != czxid_) {
      s.own_gone = true;
      co_return done;
    }
    where = got.sent_in;
  }
  if (put_out_of_line()) co_return done;
  // There may have been no connection to leave a watch by.
  for (auto& s : seats_) s.own_changed = s.own_changed || !s.own_watch;
  known_in_ = where;
  if (std::exchange(suspended_, false) && !quiet_) events_->restored();
  co_return done;
}

// No error before the session's deadline.
error_code contender::why_session_may_have_ended() const {
  const auto session = port_->session();
  if (port_->now() < session.deadline) return {};
  // A session that is being closed has no deadline any more, although the server has answered.
  return session.over ? session.over : errc::deadline_passed;
}

time_point contender::look(time_point now) {
  const auto deadline = port_->session().deadline;
  if (const auto why = why_session_may_have_ended()) {
    const auto self = shared_from_this();
    lose(why);
    poke();
    return time_point::max();
  }
  const auto soon = since_ + short_hold;
  if (now < soon) return std::min(soon, deadline);
  for (auto& s : seats_)
    if (!s.own_watch) s.own_changed = true;  // looked at, and so watched, by hold()
  const auto self = shared_from_this();
  poke();
  return deadline;
}

void contender::heed_revocation() {
  heed_revocation_ = true;
  for (auto& s : seats_) s.own_changed = true;
  poke();
}

// Reads our own node and leaves a watch on it.
task<error_code> contender::watch_own(seat& s) {
  if (!s.own_watch) s.own_watch = own_watcher(s);
  const auto asked = ask(requests::get(port_->defaults(), s.path(), s.own_watch), here());
  const auto got = co_await asked;
  if (got.ec == errc::no_node || (!got.ec && got.value.stat.czxid != czxid_)) s.own_gone = true;
  if (got.ec) s.own_watch = {};
  if (!got.ec && seats_.size() == 1) known_in_ = got.sent_in;
  if (!got.ec && holding_ && heed_revocation_ && read_badge(got.value.data).asked_to_release &&
      !quiet_)
    events_->revocation_asked();
  co_return got.ec;
}

}  // namespace conclave::recipes
