// How a contender leaves its lines, whatever becomes of the connection.
#include <algorithm>
#include <utility>

#include "recipes/contender.hpp"
#include "recipes/outcome.hpp"
#include "recipes/record.hpp"

namespace conclave::recipes {
namespace {

// Between two tries to release what the server does not let us release (the parent's ACL).
constexpr auto longest_rest = std::chrono::seconds{1};

}  // namespace

void contender::leave() {
  if (std::exchange(leaving_, true)) return;
  holding_ = false;
  tell_downgraded(errc::lock_lost);
  poke();
}

void contender::leave_mark(marked on) {
  if (!leaving_) marked_ = std::move(on);
  leave();
}

error_code contender::left() const noexcept {
  if (left_) return not_removed_;
  return session_over_ ? errc::session_expired : errc::lock_lost;
}

bool contender::can_leave_to_next() const noexcept {
  return holding_ && !session_over_ && seats_.size() == 1 && uses_tickets(seats_[0]) &&
         seats_[0].record_writable && !put_out_of_line() && !overslept();
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
    if (std::exchange(s.claimed, false)) port_->claimed.remove(s.path(), czxid_);
  in_line_ = false;
}

// What a holder's release writes into the parent, if anything.
std::optional<std::int32_t> contender::ticket_to_record(const seat& s) const {
  if (!s.record_writable || !may_use_tickets()) return std::nullopt;
  if (uses_tickets(s)) return s.ticket;
  if (s.served && *s.served != none_served) return none_served;
  return std::nullopt;
}

task<> contender::withdraw() {
  tell_downgraded(errc::lock_lost);
  for (auto& s : seats_) stop_watching(s);
  while ((parting_ == parting::offered || parting_ == parting::taken_along) && !session_over_)
    co_await news{*this};
  if (parting_ == parting::confirmed) in_line_ = false;
  bool as_transaction = was_holder_;  // with the records that spare the next one a look
  place where = known_in_;
  duration rest = breath;
  bool perhaps_done = false;
  // What stands under the name of a node that is gone is somebody else's.
  if (in_line_ && !session_over_ &&
      (parting_ == parting::unclear || put_out_of_line() || overslept()))
    co_await find_out(where);
  while (in_line_ && !session_over_) {
    error_code ec;
    bool refused = false;
    transaction t;
    for (const auto& s : seats_) t.remove(s.path());
    if (marked_.removed)
      t.remove(marked_.path, marked_.version);
    else if (!marked_.path.empty())
      t.check(marked_.path, marked_.version);
    if (as_transaction)
      for (const auto& s : seats_)
        if (const auto served = ticket_to_record(s))
          t.set(s.parent, write_record(s.parent_czxid, *served));
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
      const bool other = refused && *got.value.failed_part() >= seats_.size();
      if (other && !marked_.path.empty()) {
        // Somebody else had it since, or wrote into it; or it is not for us to remove.
        if (ec == errc::bad_version && marked_.removed) {
          const auto reading = ask(requests::exists(port_->defaults(), marked_.path, {}), {});
          const auto found = co_await reading;
          if (!found.ec && (!found.value || found.value->czxid != marked_.czxid))
            marked_ = {};
          else if (found.value)
            marked_.version = found.value->version;
        } else {
          if (marked_.removed && ec != errc::no_node) not_removed_ = ec;
          marked_ = {};
        }
        co_await find_out(where);
        continue;
      }
      // The parent may not be written, or one of several nodes is gone already.
      if (other) ec = errc::no_auth;
    }
    left_ = !ec;
    session_over_ = session_over_ || session_is_over(ec);
    if (!ec || session_over_) break;
    if (ec == errc::no_node && seats_.size() == 1) break;
    if (refused && as_transaction && ec == errc::no_auth) {
      as_transaction = false;
      continue;
    }
    if (!connection_trouble(ec)) {
      co_await pause(rest);
      rest = std::min<duration>(rest * 2, longest_rest);
    }
    // Perhaps it has happened, and names can come back: never a second time without looking.
    perhaps_done = perhaps_done || outcome_unknown(ec);
    co_await find_out(where);
    left_ = perhaps_done && !in_line_ && !session_over_;
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
    session_over_ = session_over_ || session_is_over(synced.ec);
    if (session_over_) {
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
        port_->claimed.remove(s.path(), czxid_);
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

}  // namespace conclave::recipes
