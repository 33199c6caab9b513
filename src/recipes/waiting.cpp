// How a contender waits in a line, and how it knows that its turn has come.
#include <algorithm>
#include <utility>

#include "recipes/contender.hpp"
#include "recipes/numbers.hpp"
#include "recipes/outcome.hpp"
#include "recipes/permits.hpp"
#include "recipes/record.hpp"
#include "recipes/together.hpp"

namespace conclave::recipes {

// Readers and writers order themselves by more than their tickets, and near the end of the numbers
// tickets mean nothing.
bool contender::may_use_tickets() const noexcept {
  return terms_.tickets && terms_.rule == rule::first_in_line &&
         terms_.role == layout::role::exclusive;
}

bool contender::uses_tickets(const seat& s) const noexcept {
  return may_use_tickets() && !near_the_end(s.ticket);
}

// A writer's node is also deleted when the writer becomes a reader, which keeps its number and is
// still before us. Where writers and mutexes have the same names, any of them may do so.
bool contender::may_become_reader(layout::role r, std::string_view name) {
  return r == layout::role::writer || (r == layout::role::exclusive && layout::may_be_writer(name));
}

// Two ways to know that nobody is before us any more. By tickets: every ticket up to the last one
// served is gone. By the line itself: we are the first in it. On either way we wait for one node
// only. By its ticket that is the one just before ours; a holder with another library's name is
// not found so, and a contender that gave up or died leaves a gap, and then we look at the line.
task<error_code> contender::wait_for_turn(seat& s) {
  const bool tickets = uses_tickets(s);
  // Ticket 0 is the first of all, unless the counter has run over, and there are others. A ticket
  // that was served and is not below ours is of the round before, or our node is gone.
  const auto served_all_before = [&](std::int32_t ticket) {
    return s.served && *s.served < s.ticket && !near_the_end(ticket) && *s.served >= ticket - 1;
  };
  if (tickets && (s.ticket == 0 ? s.alone : served_all_before(s.ticket))) co_return error_code{};

  // What the deletion of the node that we wait for proves.
  enum class deletion {
    grants,          // it was the first in the wait queue, and nothing replaces it
    leaves_a_gap,    // nobody has a ticket from its own up to ours, and nothing replaces it
    proves_nothing,  // a reader may have replaced it
  };
  std::int32_t awaited = tickets ? s.ticket - 1 : 0;
  auto meaning = deletion::proves_nothing;
  bool by_ticket = tickets && s.ticket > 0 && terms_.patient && !terms_.counted;
  if (by_ticket) {
    const auto prefix = terms_.layout.name_prefix(terms_.role);
    s.other = prefix + number_text(awaited);
    if (!may_become_reader(terms_.role, s.other)) meaning = deletion::leaves_a_gap;
    // What would be read early is only of use if the deletion says the rest.
    if (terms_.hurried && awaited > 0 && !served_all_before(awaited) &&
        meaning != deletion::proves_nothing)
      s.ahead = prefix + number_text(awaited - 1);
  }
  bool told = false;
  for (;;) {
    if (s.other.empty()) {
      reached(step::looks);
      const auto now = co_await read_line(s);
      if (leaving_ || session_over_) co_return why_interrupted();
      if (connection_trouble(now.ec) && terms_.patient) continue;  // we keep our place
      if (now.ec || !now.in_our_way) co_return now.ec;
      if (!terms_.patient) {
        seen_holder_ = s.child(now.before_us.front().name);
        co_return errc::taken;
      }
      if (terms_.counted && !std::exchange(told, true) && !quiet_)
        events_->enqueued(now.before_us.size());
      const auto& next = now.before_us[*now.in_our_way];
      s.other = next.name;
      s.other_czxid = next.czxid;
      awaited = next.number;
      meaning = may_become_reader(next.role, next.name) ? deletion::proves_nothing
                : *now.in_our_way == 0                  ? deletion::grants
                                                        : deletion::leaves_a_gap;
    }
    reached(step::waits);
    auto ec = co_await wait_until_gone(s);
    stop_watching(s);
    s.other.clear();
    s.ahead.clear();
    s.other_czxid = 0;
    if (ec == errc::no_node) {
      // Gone before we looked, or never there under this name.
      if (!std::exchange(by_ticket, false)) continue;
      ec = co_await read_served(s);
      if (!ec && served_all_before(s.ticket)) co_return ec;
    } else if (!ec) {
      if (meaning == deletion::grants) co_return ec;
      if (!tickets) continue;
      const auto last_needed = meaning == deletion::proves_nothing ? s.ticket : awaited;
      if (served_all_before(last_needed)) co_return ec;
      ec = co_await read_served(s);
      if (!ec && served_all_before(last_needed)) co_return ec;
    }
    if (ec && !connection_trouble(ec)) co_return ec;
    by_ticket = false;
  }
}

// Watches the other node until it is deleted. errc::no_node if it was not there to begin with.
task<error_code> contender::wait_until_gone(seat& s) {
  s.waited = true;
  for (;;) {
    s.other_gone = s.other_stirred = false;
    s.other_watch = other_watcher(s);
    std::optional<asking<get_result>> own;
    const bool watch_own_too = !s.own_watch && !s.name.empty();
    if (watch_own_too) s.own_watch = own_watcher(s);
    std::optional<asking<get_result>> other;
    std::optional<asking<get_result>> ahead;
    {
      const together in_one_write{*port_};
      other = ask(requests::get(port_->defaults(), s.other_path(), s.other_watch), here());
      if (!s.ahead.empty() && !s.ahead_watch) {
        s.ahead_watch = ahead_watcher(s);
        ahead = ask(requests::get(port_->defaults(), s.ahead_path(), s.ahead_watch), here());
      }
      if (watch_own_too) own = ask(requests::get(port_->defaults(), s.path(), s.own_watch), here());
    }
    const auto got = co_await *other;
    if (got.ec) s.other_watch = {};
    if (own) {
      const auto mine = co_await *own;
      if (mine.ec) s.own_watch = {};
      if (mine.ec == errc::no_node || (!mine.ec && mine.value.stat.czxid != czxid_))
        s.own_gone = true;
    }
    if (ahead) {
      const auto got_ahead = co_await *ahead;
      if (got_ahead.ec) s.ahead_watch = {};
      if (got_ahead.ec == errc::no_node) s.ahead_gone = true;
    }
    // Another one has come under the name, behind us: to wait for it would be to wait for
    // ourselves.
    const bool replaced = !got.ec && s.other_czxid != 0 && got.value.stat.czxid != s.other_czxid;
    if (replaced) co_return errc::no_node;
    if (!got.ec) reached(step::watches);
    const auto nothing_new = [&] {
      return !s.other_gone && !s.other_stirred && !put_out_of_line() && !leaving_ && !session_over_;
    };
    while (!got.ec && nothing_new()) {
      if (std::exchange(s.own_changed, false))
        co_await watch_own(s);
      else if (std::exchange(s.ahead_gone, false))
        co_await get_ready(s);
      else
        co_await news{*this};
    }
    if (leaving_ || session_over_) co_return why_interrupted();
    if (put_out_of_line()) co_return co_await why_out_of_line();
    if (s.other_gone) {
      s.other_watch = {};
      co_return error_code{};
    }
    // Its data changed, or there was no connection for long: we keep our place and look again.
    if (got.ec && !connection_trouble(got.ec)) co_return got.ec;
  }
}

// The one before the one that we wait for has gone. If it held the lock, the one that we wait for
// holds it now, and its going will be our grant without asking: the record is read here, off the
// way of the hand-off. If reading fails, it is read then.
task<> contender::get_ready(seat& s) {
  s.ahead_watch = {};
  s.ahead.clear();
  co_await read_served(s);
  co_return done;
}

// Until there are no more of us than permits. Whoever comes here holds the lock that admits them
// one by one, so only one at a time looks at the list whenever it changes.
task<error_code> contender::wait_for_permit(seat& s) {
  for (bool agreed = false;;) {
    s.other_stirred = false;
    std::vector<std::string> names;
    error_code ec;
    // The first time without a watch: it would stay behind if there is a permit.
    const bool watches = agreed;
    if (watches) {
      s.other_watch = children_watcher(s);
      const auto asked =
          ask(requests::children(port_->defaults(), s.parent, s.other_watch), here());
      auto got = co_await asked;
      ec = got.ec;
      names = std::move(got.value.names);
    } else {
      ec = co_await agree_on_permits(s, names);
      agreed = !ec;
    }
    if (leaving_ || session_over_) co_return why_interrupted();
    if (ec == errc::no_node) co_return errc::out_of_line;
    if (ec && !connection_trouble(ec)) co_return ec;
    if (!ec) {
      if (std::find(names.begin(), names.end(), s.name) == names.end()) co_return errc::out_of_line;
      if (names.size() <= terms_.permits) co_return error_code{};
      if (!terms_.patient) co_return errc::taken;
    }
    while (!ec && watches && !s.other_stirred && !leaving_ && !session_over_) co_await news{*this};
  }
}

// A sequential node's name, of whatever layout.
static bool ends_in_number(std::string_view name) {
  constexpr std::size_t digits = 10;
  return name.size() >= digits && name.find_last_not_of("0123456789") + digits + 1 <= name.size();
}

// All who hold permits agree on their number. It is recorded in the semaphore's path, and whoever
// comes when nobody else holds a permit may change it.
//
// Nor may anybody hold a lock without permits in that path. A contender for such a lock looks for
// permits after its node was created, unless the record says that all before it are gone; so our
// number stands in that record before we look for contenders, and still does afterwards.
task<error_code> contender::agree_on_permits(seat& s, std::vector<std::string>& leases) {
  const auto& path = terms_.semaphore;
  for (;;) {
    std::optional<asking<children_result>> permits, children;
    std::optional<asking<get_result>> before, after;
    {
      const together in_one_write{*port_};
      before = ask(requests::get(port_->defaults(), path, {}), here());
      permits = ask(requests::children(port_->defaults(), s.parent, {}), here());
      children = ask(requests::children(port_->defaults(), path, {}), here());
      after = ask(requests::get(port_->defaults(), path, {}), here());
    }
    const auto old = co_await *before;
    auto held = co_await *permits;
    const auto beside = co_await *children;
    const auto read = co_await *after;
    leases = std::move(held.value.names);
    if (held.ec) co_return held.ec;
    // Where the path may not be read, all must say the same.
    if (beside.ec == errc::no_auth || read.ec == errc::no_auth) co_return error_code{};
    if (beside.ec || read.ec) co_return beside.ec ? beside.ec : read.ec;
    for (const auto& name : beside.value.names) {
      bool contends = layout::known_elsewhere(name);
      if (!contends && ends_in_number(name)) {  // of a layout of somebody's own, or a folder
        const auto asking_one =
            ask(requests::exists(port_->defaults(), path + '/' + name, {}), here());
        const auto found = co_await asking_one;
        if (found.ec) co_return found.ec;
        contends = found.value && found.value->ephemeral_owner != 0;
      }
      if (!contends) continue;
      mismatch_ = "node " + name + " is of a lock without permits";
      co_return errc::permits_mismatch;
    }
    const auto told = read_record(read.value.data, read.value.stat);
    if (told.permits == terms_.permits) {
      if (!old.ec && old.value.stat.mzxid == read.value.stat.mzxid) co_return error_code{};
      continue;
    }
    const bool others = std::any_of(leases.begin(), leases.end(), [&](const std::string& name) {
      return name != s.name && is_lease(name);
    });
    if (told.permits && others) {
      mismatch_ = "it is in use with " + std::to_string(*told.permits) + " permits, not " +
                  std::to_string(terms_.permits);
      co_return errc::permits_mismatch;
    }
    if (!told.writable) co_return error_code{};
    const auto setting = ask(
        requests::set(port_->defaults(), path, write_permits(read.value.stat.czxid, terms_.permits),
                      read.value.stat.version),
        here());
    const auto set = co_await setting;
    if (leaving_ || session_over_) co_return why_interrupted();
    if (set.ec == errc::no_auth) co_return error_code{};
    if (set.ec && set.ec != errc::bad_version && !outcome_unknown(set.ec)) co_return set.ec;
  }
}

// A path with permits that somebody holds is no lock of ours.
task<error_code> contender::expect_no_permits(seat& s) {
  const auto asked = ask(requests::children(port_->defaults(), s.child(leases_folder), {}), here());
  const auto got = co_await asked;
  if (got.ec == errc::no_node || got.ec == errc::no_auth) co_return error_code{};
  if (got.ec) co_return got.ec;
  if (std::none_of(got.value.names.begin(), got.value.names.end(), is_lease))
    co_return error_code{};
  mismatch_ = "permits of a semaphore are held there";
  co_return errc::permits_mismatch;
}

task<error_code> contender::read_served(seat& s) {
  const auto asked = ask(requests::get(port_->defaults(), s.parent, {}), here());
  const auto got = co_await asked;
  if (leaving_ || session_over_) co_return why_interrupted();
  if (got.ec == errc::no_node) co_return errc::out_of_line;
  if (!got.ec) note_record(s, got.value);
  co_return got.ec == errc::no_auth ? error_code{} : got.ec;
}

// Conclave's mutexes, readers and writers wait for each other. Other libraries' mutexes do not see
// readers and writers, nor these mutexes, unless writers are named like mutexes.
bool contender::takes_part(const layout::contender& c) const {
  using role = layout::role;
  return c.ours || (terms_.role == role::exclusive) == (c.role == role::exclusive) ||
         terms_.layout.name_prefix(role::writer) == terms_.layout.name_prefix(role::exclusive);
}

task<contender::line> contender::read_line(seat& s) {
  line found;
  const auto asked = ask(requests::children(port_->defaults(), s.parent, {}), here());
  const auto got = co_await asked;
  if (got.ec) {
    found.ec = got.ec == errc::no_node ? error_code{errc::out_of_line} : got.ec;
    co_return found;
  }
  std::vector<rival> all;
  number_range numbers;
  bool has_leases = false;
  for (const auto& name : got.value.names) {
    const auto c = terms_.layout.parse(name);
    if (c && takes_part(*c)) {
      all.push_back({name, c->role, c->number});
      numbers.add(c->number);
    } else if (layout::known_elsewhere(name)) {
      found.ec = errc::layout_mismatch;
      mismatch_ = terms_.layout.explain_mismatch(name);
      co_return found;
    } else if (name == leases_folder) {
      has_leases = true;
    }
  }
  if (has_leases)
    if (found.ec = co_await expect_no_permits(s); found.ec) co_return found;
  if (numbers.ordered_by_age())
    if (found.ec = co_await find_ages(s, all); found.ec) co_return found;
  std::sort(all.begin(), all.end(), [](const rival& a, const rival& b) {
    return std::tie(a.czxid, a.number, a.name) < std::tie(b.czxid, b.number, b.name);
  });
  const auto us = std::find_if(all.begin(), all.end(), [&](auto& r) { return r.name == s.name; });
  if (us == all.end()) {
    found.ec = errc::out_of_line;
    co_return found;
  }
  all.erase(us, all.end());
  // A reader waits for the last writer before it, everyone else for the last one of all.
  for (std::size_t i = all.size(); i-- > 0 && !found.in_our_way;)
    if (terms_.role != layout::role::reader || all[i].role != layout::role::reader)
      found.in_our_way = i;
  found.before_us = std::move(all);
  co_return found;
}

// Numbers have come to their end: the order is that of creation.
task<error_code> contender::find_ages(seat& s, std::vector<rival>& all) {
  std::vector<asking<std::optional<node_stat>>> asked;
  {
    const together in_one_write{*port_};
    for (const auto& r : all)
      asked.push_back(ask(requests::exists(port_->defaults(), s.child(r.name), {}), here()));
  }
  error_code ec;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto got = co_await asked[i];
    if (got.ec) ec = got.ec;
    if (!got.ec && got.value) all[i].czxid = got.value->czxid;
  }
  std::erase_if(all, [](const rival& r) { return r.czxid == 0; });
  // A writer that has become a reader has the number of its old node, and a younger one. Nobody
  // with a higher number is older.
  for (auto& reader : all) {
    if (reader.role != layout::role::reader || near_the_end(reader.number)) continue;
    for (const auto& r : all)
      if (comes_later(r.number, reader.number)) reader.czxid = std::min(reader.czxid, r.czxid);
  }
  co_return ec;
}

}  // namespace conclave::recipes
