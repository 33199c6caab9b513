// A contender's life: contend, hold, withdraw. How it gets into a line is in enqueue.cpp, how it
// waits there in waiting.cpp.
#include "recipes/contender.hpp"

#include <algorithm>
#include <utility>

#include "recipes/badge.hpp"
#include "recipes/new_id.hpp"
#include "recipes/numbers.hpp"
#include "recipes/outcome.hpp"
#include "recipes/record.hpp"
#include "recipes/revocation.hpp"
#include "recipes/together.hpp"

namespace conclave::recipes {
namespace {

using namespace std::chrono_literals;
using kind = session_event::kind;

// A hold that lasts longer than this watches its own node: it may be deleted by hand.
constexpr auto short_hold = 100ms;

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

void contender::start() {
  run_ = run();
  run_.start();
}

void contender::start_behind(std::shared_ptr<contender> before) {
  before_ = std::move(before);
  start();
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
    const bool begins_again = session_is_over(got.ec) && terms_.renew && !port_->session().over;
    if (got.ec && !begins_again) co_return got.ec;
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
    auto ec = co_await enqueue();
    if (leaving_) co_return why_interrupted();
    for (auto& s : seats_)
      if (!ec && terms_.rule == rule::first_in_line) ec = co_await wait_for_turn(s);
    if (!ec && terms_.rule == rule::permits) ec = co_await wait_for_permit(seats_[0]);
    // While one line was waited in, something may have happened to our node in another.
    const bool waited = std::any_of(seats_.begin(), seats_.end(), [](auto& s) { return s.waited; });
    if (seats_.size() > 1 && waited)
      for (auto& s : seats_)
        if (!ec && !s.own_watch) {
          ec = co_await watch_own(s);
          if (ec == errc::no_node) ec = {};  // put_out_of_line() tells
        }
    if (!ec && put_out_of_line()) ec = co_await why_out_of_line();
    if (!ec) ec = co_await be_in_time();
    if (leaving_) co_return why_interrupted();
    if (!ec || !session_is_over(ec) || !terms_.renew || port_->session().over) co_return ec;
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

// --- holding

void contender::become_holder() {
  holding_ = was_holder_ = true;
  since_ = port_->now();
  const auto session = port_->session();
  port_->keep(*this, std::min(session.deadline, since_ + short_hold));
  suspended_ = !session.connected;
  if (quiet_) return;
  events_->granted();
  if (suspended_) events_->suspended();
}

void contender::lose(error_code why) {
  if (!std::exchange(holding_, false)) return;
  leaving_ = true;
  if (!quiet_) events_->lost(why);
  tell_downgraded(errc::lock_lost);  // there may be no connection for long
}

// Until it leaves, or has lost what it held.
task<> contender::hold() {
  while (!leaving_) {
    const auto changed = [](const seat& s) { return s.own_changed; };
    if (session_over_) {
      lose(session_end_);
    } else if (put_out_of_line()) {
      lose(errc::lock_lost);
    } else if (!downgrades_.empty()) {
      const auto ec = co_await become_reader();
      tell_downgraded(ec);
    } else if (std::exchange(check_own_, false)) {
      co_await check_own_nodes();
    } else if (const auto s = std::find_if(seats_.begin(), seats_.end(), changed);
               s != seats_.end()) {
      s->own_changed = false;
      co_await watch_own(*s);
    } else {
      co_await news{*this};
    }
  }
  co_return done;
}

// On a new connection: a hold that was suspended goes on only if its nodes are still the same.
task<> contender::check_own_nodes() {
  for (auto& s : seats_) {
    const auto asked = ask(requests::get(port_->defaults(), s.path(), {}), here());
    const auto got = co_await asked;
    if (leaving_ || session_over_ || connection_trouble(got.ec)) co_return done;
    if (got.ec == errc::no_node || (!got.ec && got.value.stat.czxid != czxid_)) {
      s.own_gone = true;
      co_return done;
    }
  }
  if (std::exchange(suspended_, false) && !quiet_) events_->restored();
  co_return done;
}

bool contender::put_out_of_line() const noexcept {
  return std::any_of(seats_.begin(), seats_.end(), [](const seat& s) { return s.own_gone; });
}

void contender::downgrade(std::function<void(error_code)> told) {
  downgrades_.push_back(std::move(told));
  poke();
}

void contender::tell_downgraded(error_code ec) {
  for (const auto& told : std::exchange(downgrades_, {})) told(ec);
}

// One transaction: the writer's node goes, and a reader's node with the same number comes. Writers
// behind it see a reader before them, and readers see no writer.
task<error_code> contender::become_reader() {
  if (terms_.role == layout::role::reader) co_return error_code{};
  auto& s = seats_[0];
  // There the order is that of creation, and our new node would stand behind waiting writers.
  if (near_the_end(s.ticket)) co_return errc::not_supported;
  const auto prefix = terms_.layout.name_prefix(layout::role::reader);
  const auto name = prefix + number_text(s.ticket);
  const auto id = new_id(*port_);
  // From now on no other contender of ours takes the reader's node for its own.
  port_->claimed.insert(s.child(name));
  const auto data = write_badge(terms_.owner, id);
  for (;;) {
    transaction t;
    t.remove(s.path()).create(s.child(name), data, create_mode::ephemeral);
    const auto asked = ask(requests::commit(port_->defaults(), t), here());
    const auto got = co_await asked;
    auto ec = got.ec;
    auto czxid = got.value.zxid;
    while (connection_trouble(ec) && !session_over_) {
      const auto syncing =
          ask(requests::sync(port_->defaults(), s.parent), here(), session::on_cut::fail);
      const auto synced = co_await syncing;
      if (synced.ec == errc::backlog_full) {
        co_await pause(breath);
        continue;  // still unknown
      }
      if (ec = synced.ec; ec) continue;
      const auto asked_reader =
          ask(requests::get(port_->defaults(), s.child(name), {}), synced.sent_in);
      const auto reader = co_await asked_reader;
      if (reader.ec == errc::backlog_full) {
        ec = errc::connection_loss;  // still unknown
      } else if (ec = reader.ec; !ec) {
        // Somebody may have written over the id (a revocation does).
        const auto shown = read_badge(reader.value.data).id;
        if (reader.value.stat.ephemeral_owner != session_ || (!shown.empty() && shown != id))
          ec = errc::node_exists;
        czxid = reader.value.stat.czxid;
      } else if (ec == errc::no_node) {
        break;
      }
    }
    if (!session_over_ && ec == errc::no_node && !got.value.failed_part())
      continue;  // it did not happen
    if (session_over_ || ec) port_->unclaim(s.child(name));
    if (session_over_) co_return session_end_;
    if (ec == errc::no_node) {  // the writer's
      s.own_gone = true;
      co_return errc::lock_lost;
    }
    if (ec) co_return ec;
    port_->unclaim(s.path());
    if (s.own_watch) port_->forget_watch(s.path(), watch_kind::data, s.own_watch);
    s.own_watch = {};
    s.own_gone = false;
    s.name = name;
    czxid_ = czxid;
    terms_.role = layout::role::reader;
    since_ = port_->now();
    port_->keep(*this, std::min(port_->session().deadline, since_ + short_hold));
    co_return ec;
  }
}

time_point contender::look(time_point now) {
  const auto deadline = port_->session().deadline;
  if (now >= deadline) {
    const auto self = shared_from_this();
    lose(errc::lock_lost);
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
  if (!got.ec && holding_ && heed_revocation_ && got.value.data == revocation && !quiet_)
    events_->revocation_asked();
  co_return got.ec;
}

// --- leaving

void contender::leave() {
  if (std::exchange(leaving_, true)) return;
  holding_ = false;
  tell_downgraded(errc::lock_lost);
  poke();
}

bool contender::can_leave_to_next() const noexcept {
  return holding_ && !session_over_ && seats_.size() == 1 && uses_tickets(seats_[0]) &&
         seats_[0].record_writable && !put_out_of_line();
}

void contender::leave_to_next() {
  parting_ = parting::offered;
  leave();
}

void contender::leave_now() {
  if (parting_ == parting::offered) parting_ = parting::alone;
  poke();
}

void contender::withdraw_claims() {
  for (auto& s : seats_)
    if (std::exchange(s.claimed, false)) port_->unclaim(s.path());
  in_line_ = false;
}

task<> contender::withdraw() {
  tell_downgraded(errc::lock_lost);
  for (auto& s : seats_) stop_watching(s);
  while ((parting_ == parting::offered || parting_ == parting::taken_along) && !session_over_)
    co_await news{*this};
  if (parting_ == parting::confirmed) in_line_ = false;
  bool as_transaction = was_holder_;  // with the records that spare the next one a look
  place where = here();
  // What stands under the name of a node that is gone is somebody else's.
  if (in_line_ && !session_over_ && (parting_ == parting::unclear || put_out_of_line()))
    co_await find_out(where);
  while (in_line_ && !session_over_) {
    error_code ec;
    bool refused = false;
    transaction t;
    for (const auto& s : seats_) t.remove(s.path());
    if (as_transaction)
      for (const auto& s : seats_)
        if (uses_tickets(s) && s.record_writable)
          t.set(s.parent, write_record(s.parent_czxid, s.ticket));
    if (t.size() == 1) {
      const auto asked =
          ask(requests::remove(port_->defaults(), seats_[0].path(), any_version), where);
      const auto got = co_await asked;
      ec = got.ec;
    } else {
      const auto asked = ask(requests::commit(port_->defaults(), t), where);
      const auto got = co_await asked;
      ec = got.ec;
      refused = got.value.failed_part().has_value();
      // The parent may not be written, or one of several nodes is gone already.
      if (refused && *got.value.failed_part() >= seats_.size()) ec = errc::no_auth;
    }
    if (!ec || session_is_over(ec)) break;
    if (ec == errc::no_node && seats_.size() == 1) break;
    if (refused && as_transaction && ec == errc::no_auth) {
      as_transaction = false;
      continue;
    }
    if (!connection_trouble(ec)) co_await pause(breath);
    // Perhaps it has happened, and names can come back: never a second time without looking.
    co_await find_out(where);
  }
  withdraw_claims();
  if (parents_may_go_ && !session_over_)
    for (const auto& s : seats_)
      static_cast<void>(ask(requests::remove(port_->defaults(), s.parent, any_version), here()));
  co_return done;
}

// Which of our nodes are still there. Afterwards in_line_ says whether any is, seats_ are those,
// and `where` is the connection on which that is known.
task<> contender::find_out(place& where) {
  for (;;) {
    where = here();
    const auto syncing =
        ask(requests::sync(port_->defaults(), seats_[0].parent), where, session::on_cut::fail);
    const auto synced = co_await syncing;
    if (session_over_ || session_is_over(synced.ec)) {
      in_line_ = false;
      co_return done;
    }
    if (synced.ec) {
      if (!connection_trouble(synced.ec)) co_await pause(breath);
      continue;
    }
    where = synced.sent_in;
    error_code ec;
    std::vector<seat> left;
    for (auto& s : seats_) {
      const auto asked = ask(requests::get(port_->defaults(), s.path(), {}), where);
      const auto got = co_await asked;
      if (got.ec && got.ec != errc::no_node) ec = got.ec;
      if (!got.ec && got.value.stat.czxid == czxid_)
        left.push_back(s);
      else if ((got.ec == errc::no_node || !got.ec) && std::exchange(s.claimed, false))
        port_->unclaim(s.path());
    }
    if (ec) {
      if (!connection_trouble(ec)) co_await pause(breath);
      continue;
    }
    seats_ = std::move(left);
    in_line_ = !seats_.empty();
    co_return done;
  }
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

watcher contender::children_watcher(const seat& s) {
  return watching(s, [](seat& mine, const watch_event&) { mine.other_stirred = true; });
}

void contender::stop_watching(seat& s) {
  if (!s.other_watch) return;
  if (terms_.rule == rule::permits)
    port_->forget_watch(s.parent, watch_kind::children, s.other_watch);
  else if (!s.other.empty())
    port_->forget_watch(s.other_path(), watch_kind::data, s.other_watch);
  s.other_watch = {};
}

}  // namespace conclave::recipes
