// A contender's life, and what reaches it meanwhile. Each part of it has a file: enqueue.cpp,
// waiting.cpp, holding.cpp, downgrade.cpp, leaving.cpp.
#include "recipes/contender.hpp"

#include <algorithm>
#include <utility>

#include "recipes/outcome.hpp"

namespace conclave::recipes {
namespace {

using kind = session_event::kind;

}  // namespace

contender::contender(std::shared_ptr<port> p, terms t, std::shared_ptr<contender_events> events)
    : port_{std::move(p)}, terms_{std::move(t)}, events_{std::move(events)} {
  port_->join(*this);
}

contender::~contender() { end(); }

// Once it is over, it is destroyed outside of any entry.
void contender::end() {
  if (!std::exchange(joined_, false)) return;
  port_->part(*this);
  port_->drop(*this);
}

void contender::start(std::shared_ptr<contender> before) {
  before_ = std::move(before);
  run_ = run();
  run_.start();
}

task<> contender::run() {
  const auto ec = co_await contend();
  if (!ec) {
    become_holder();
    co_await hold();
    holding_ = false;
    port_->drop(*this);
  } else if (!quiet_) {
    events_->failed(ec);
  }
  co_await withdraw();
  end();
  events_->gone();
  co_return done;
}

task<error_code> contender::contend() {
  if (!terms_.patient && !terms_.seen_holder.empty()) {
    const auto asked = ask(requests::exists(port_->defaults(), terms_.seen_holder, {}), {});
    const auto got = co_await asked;
    if (got.ec && !(terms_.renew && port_->begins_again(got.ec))) co_return got.ec;
    if (got.value) {
      seen_holder_ = terms_.seen_holder;
      co_return errc::taken;
    }
  }
  for (;;) {
    seats_.clear();
    for (const auto& parent : terms_.parents) seats_.emplace_back().parent = parent;
    session_ = 0;
    session_over_ = false;
    reached(step::enrols);
    auto ec = co_await enqueue();
    if (leaving_) co_return why_interrupted();
    if (!ec) reached(step::enrolled);
    for (auto& s : seats_)
      if (!ec && terms_.rule == rule::first_in_line) ec = co_await wait_for_turn(s);
    if (!ec && terms_.rule == rule::permits) ec = co_await wait_for_permit(seats_[0]);
    // While one line was waited in, something may have happened to our node in another.
    const bool waited = std::any_of(seats_.begin(), seats_.end(), [](auto& s) { return s.waited; });
    if (seats_.size() > 1 && waited)
      for (auto& s : seats_)
        while (!ec && !leaving_ && !s.own_gone &&
               (std::exchange(s.own_changed, false) || !s.own_watch)) {
          ec = co_await watch_own(s);
          // put_out_of_line() tells, or we keep our place.
          if (ec == errc::no_node || connection_trouble(ec)) ec = {};
        }
    if (!ec && put_out_of_line()) ec = co_await why_out_of_line();
    if (!ec) ec = co_await be_in_time();
    if (leaving_) co_return why_interrupted();
    if (!terms_.renew || !port_->begins_again(ec)) co_return ec;
    // The session ended, and our place in the line with it. There is a new one: to its end.
    withdraw_claims();
  }
}

// It is our turn. But we may have stood still for longer than the session lives, with the news of
// our turn in the socket and that of the session's end behind it: then the server is asked first.
task<error_code> contender::be_in_time() {
  while (!leaving_ && !session_over_ && port_->now() >= port_->session().deadline) {
    const auto asked = ask(requests::get(port_->defaults(), seats_[0].path(), {}), here());
    const auto got = co_await asked;
    if (got.ec == errc::no_node) co_return errc::out_of_line;
    if (got.ec && !connection_trouble(got.ec)) co_return got.ec;
  }
  co_return leaving_ || session_over_ ? why_interrupted() : error_code{};
}

// One of our nodes was deleted: by hand, or with our session, whose end we have not heard of yet.
task<error_code> contender::why_out_of_line() {
  for (;;) {
    const auto asked = ask(requests::get(port_->defaults(), seats_[0].path(), {}), here());
    const auto got = co_await asked;
    if (leaving_ || session_over_) co_return why_interrupted();
    if (got.ec == errc::no_node && seats_.size() == 1) in_line_ = false;  // nothing to withdraw
    if (!got.ec || got.ec == errc::no_node) co_return errc::out_of_line;
    if (!connection_trouble(got.ec)) co_return got.ec;
  }
}

error_code contender::why_interrupted() const noexcept {
  if (leaving_) return {ECANCELED, boost::system::system_category()};
  return session_end_;
}

bool contender::put_out_of_line() const noexcept {
  return std::any_of(seats_.begin(), seats_.end(), [](const seat& s) { return s.own_gone; });
}

// --- what reaches it

void contender::session_changed(const session_event& e) {
  if (session_ == 0) return;  // a request under way will tell
  const auto self = shared_from_this();
  switch (e.type) {
    case kind::suspended:
      if (!holding_) return;
      // It may have had none as long as the connection lasted.
      port_->keep(*this, port_->session().deadline);
      if (!std::exchange(suspended_, true) && !quiet_) events_->suspended();
      return;
    case kind::reconnected: check_own_ = true; break;
    case kind::connected: return;
    case kind::expired:
    case kind::closed:
    case kind::authentication_failed:
      session_over_ = true;
      session_end_ = e.type == kind::closed    ? errc::closed
                     : e.type == kind::expired ? errc::session_expired
                                               : errc::auth_failed;
      lose(session_end_);
      break;
  }
  poke();
}

void contender::poke() {
  poked_ = true;
  if (const auto h = std::exchange(sleeper_, {})) h.resume();
}

task<> contender::pause(duration d) {
  const auto until = port_->now() + d;
  port_->call_at(until, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->poke();
  });
  const auto alive = shared_from_this();  // nobody else may know us any more
  while (port_->now() < until && !session_over_) co_await news{*this};
  co_return done;
}

// Watchers are called outside of any entry, and perhaps when the contender has begun again.
watcher contender::watching(const seat& s, void (*note)(seat&, const watch_event&)) {
  return [weak = weak_from_this(), p = port_, parent = s.parent, note](const watch_event& e) {
    const auto self = weak.lock();
    if (!self || e.type == watch_event::kind::session_ended) return;  // the session's end is told
    const port::entry inside{*p};
    for (auto& mine : self->seats_)
      if (mine.parent == parent) note(mine, e);
    self->poke();
  };
}

watcher contender::own_watcher(const seat& s) {
  return watching(s, [](seat& mine, const watch_event& e) {
    if (e.path != mine.path()) return;
    (e.type == watch_event::kind::deleted ? mine.own_gone : mine.own_changed) = true;
  });
}

watcher contender::other_watcher(const seat& s) {
  return watching(s, [](seat& mine, const watch_event& e) {
    if (e.path != mine.other_path()) return;
    (e.type == watch_event::kind::deleted ? mine.other_gone : mine.other_stirred) = true;
  });
}

watcher contender::ahead_watcher(const seat& s) {
  return watching(s, [](seat& mine, const watch_event& e) {
    if (e.path == mine.ahead_path()) mine.ahead_gone = true;
  });
}

watcher contender::children_watcher(const seat& s) {
  return watching(s, [](seat& mine, const watch_event&) { mine.other_stirred = true; });
}

void contender::stop_watching(seat& s) {
  if (const auto w = std::exchange(s.ahead_watch, {}))
    port_->forget_watch(s.ahead_path(), watch_kind::data, w);
  if (!s.other_watch) return;
  if (terms_.rule == rule::permits)
    port_->forget_watch(s.parent, watch_kind::children, s.other_watch);
  else if (!s.other.empty())
    port_->forget_watch(s.other_path(), watch_kind::data, s.other_watch);
  s.other_watch = {};
}

}  // namespace conclave::recipes
