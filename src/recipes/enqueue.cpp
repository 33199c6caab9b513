// How a contender gets into its lines.
#include <algorithm>
#include <utility>

#include "recipes/badge.hpp"
#include "recipes/contender.hpp"
#include "recipes/make_path.hpp"
#include "recipes/new_id.hpp"
#include "recipes/numbers.hpp"
#include "recipes/outcome.hpp"
#include "recipes/record.hpp"
#include "recipes/together.hpp"

namespace conclave::recipes {
namespace {

// Nodes, when one of ours is looked for: many may look at once.
constexpr std::size_t read_together = 32;

}  // namespace

// Creates our nodes and reads the parents' records, in one round trip. Several nodes are created
// in one transaction: two contenders for the same locks then stand in the same order in all of
// them.
task<error_code> contender::enqueue() {
  place where;
  if (before_) {
    const auto ec = co_await enqueue_behind();
    if (in_line_ || session_is_over(ec)) co_return ec;
    where = here();
  }
  for (int orphaned = 0; !leaving_;) {
    const auto id = new_id(*port_);
    const auto data = terms_.bare ? terms_.owner : write_badge(terms_.owner, id);
    const bool unique = terms_.rule == rule::unique_name;
    const auto prefix = unique ? terms_.name : terms_.layout.name_prefix(terms_.role);
    const create_options mode{unique ? create_mode::ephemeral : create_mode::ephemeral_sequential};
    std::optional<asking<create_result>> one;
    std::optional<asking<transaction_result>> all;
    std::vector<asking<get_result>> records;
    {
      const together in_one_write{*port_};
      if (seats_.size() == 1 && terms_.along.empty()) {
        one = ask(requests::create(port_->defaults(), seats_[0].child(prefix), data, mode), where);
      } else {
        transaction t;
        for (const auto& s : seats_) t.create(s.child(prefix), data, mode);
        t.append(terms_.along);
        all = ask(requests::commit(port_->defaults(), t), where);
      }
      if (may_use_tickets())
        for (const auto& s : seats_)
          records.push_back(ask(requests::get(port_->defaults(), s.parent, {}), {}));
    }
    error_code ec;
    std::size_t failed = 0;  // which part of a transaction
    if (one) {
      const auto made = co_await *one;
      ec = made.ec;
      session_ = made.sent_in.session;
      if (!ec) {
        token_ = czxid_ = made.value.stat.czxid;
        known_in_ = made.sent_in;
        take_seat(seats_[0], made.value.path);
      }
    } else {
      const auto made = co_await *all;
      ec = made.ec;
      session_ = made.sent_in.session;
      failed = made.value.failed_part().value_or(0);
      if (!ec) {
        token_ = czxid_ = made.value.zxid;
        known_in_ = made.sent_in;
        for (std::size_t i = 0; i < seats_.size(); ++i)
          take_seat(seats_[i], made.value.parts[i].path);
      }
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto read = co_await records[i];
      if (!ec && !read.ec) note_record(seats_[i], read.value);
    }
    if (failed >= seats_.size()) co_return ec;  // what was to go along with us
    if (outcome_unknown(ec)) {
      ec = co_await settle(id);
      if (ec || in_line_) co_return ec;
    } else if (ec == errc::no_node) {
      if (ec = co_await make_parents(); ec) co_return ec;
      // They are there, and yet they are not: somebody removes them, or it is another node that is
      // missing.
      if (++orphaned > 2) co_await pause(breath);
    } else if (ec == errc::node_exists) {
      if (ec = co_await wait_for_the_name(seats_[failed]); ec) co_return ec;
    } else {
      co_return ec;
    }
    where = here();  // with another session it begins anew
  }
  co_return why_interrupted();
}

// The release of the one before us and our own creation in one transaction. It wrote our record,
// too: if the tickets follow one another, nobody came in between, and the lock is ours.
task<error_code> contender::enqueue_behind() {
  const auto before = std::exchange(before_, {});
  const auto& from = before->seats_[0];
  auto& s = seats_[0];
  session_ = before->session_;
  const auto id = new_id(*port_);
  const auto data = write_badge(terms_.owner, id);
  transaction t;
  t.remove(from.path())
      .set(from.parent, write_record(from.parent_czxid, from.ticket))
      .create(s.child(terms_.layout.name_prefix(terms_.role)), data,
              create_mode::ephemeral_sequential);
  before->parting_ = parting::taken_along;
  const auto asked = ask(requests::commit(port_->defaults(), t), before->known_in_);
  const auto made = co_await asked;
  before->parting_ = !made.ec                   ? parting::confirmed
                     : outcome_unknown(made.ec) ? parting::unclear
                                                : parting::alone;
  if (!made.ec) {
    token_ = czxid_ = made.value.zxid;
    known_in_ = made.sent_in;
    take_seat(s, made.value.parts[2].path);
    // Somebody may have deleted the path and made it again: then what was served there is another
    // line's, and ours is looked at.
    s.parent_czxid = made.value.parts[1].stat.czxid;
    if (s.parent_czxid == from.parent_czxid) {
      s.record_writable = true;
      s.served = from.ticket;
    }
  }
  before->poke();
  if (outcome_unknown(made.ec)) co_return co_await settle(id);
  co_return made.ec;
}

void contender::take_seat(seat& s, std::string_view path) {
  s.name = path.substr(path.rfind('/') + 1);
  if (const auto parsed = terms_.layout.parse(s.name)) s.ticket = parsed->number;
  if (near_the_end(s.ticket)) parents_may_go_ = true;
  port_->claimed.add(path, czxid_);
  s.claimed = true;
  in_line_ = true;
}

void contender::note_record(seat& s, const get_result& parent) {
  const auto record = read_record(parent.data, parent.stat);
  s.parent_czxid = parent.stat.czxid;
  s.record_writable = record.writable;
  s.alone = parent.stat.num_children == 1;
  if (record.served) s.served = record.served;
}

// The reply to our creation was lost. Looks for our nodes; in_line_ says whether they were found.
// Only a server that has caught up knows, and only what it says on one connection counts.
task<error_code> contender::settle(std::string id) {
  for (;;) {
    const auto syncing =
        ask(requests::sync(port_->defaults(), seats_[0].parent), here(), session::on_cut::fail);
    const auto synced = co_await syncing;
    auto ec = synced.ec;
    std::vector<std::vector<trace>> under{seats_.size()};
    for (std::size_t i = 0; i < seats_.size(); ++i)
      if (!ec) ec = co_await look_for(seats_[i], id, synced.sent_in, under[i]);
    if (!ec) ec = co_await recognise(under, synced.sent_in);
    if (!ec) co_return ec;
    if (ec == errc::backlog_full || (outcome_unknown(ec) && !connection_trouble(ec))) {
      co_await pause(breath);
      continue;
    }
    if (!connection_trouble(ec)) co_return ec;
    // Nobody waits for ever for a connection, but the nodes are looked for as long as it takes.
    if (synced.ec == errc::not_connected && !leaving_) {
      if (!quiet_) events_->failed(ec);
      quiet_ = leaving_ = true;
    }
  }
}

// Those with our id, and those made by the same transaction, are ours. Somebody may have written
// over the ids (a revocation does): then a node of our session that no other contender knows to be
// its own is ours, if there is only one. If several of us lost their replies it cannot be told
// whose is whose; such nodes are removed, and their owners create others. So is what is left if
// not all of our nodes are there.
//
// Bare nodes have no ids, but those with our data are as good as each other: the oldest is ours,
// and whoever else lost the reply to such a one finds the next.
task<error_code> contender::recognise(const std::vector<std::vector<trace>>& under, place where) {
  std::int64_t made_by = 0;
  const auto may_be_ours = [&](const trace& n) {
    return (n.ours && !terms_.bare) || !port_->claimed.contains(n.path, n.czxid);
  };
  for (const auto& nodes : under)
    for (const auto& n : nodes)
      if (n.ours && may_be_ours(n) && (made_by == 0 || n.czxid < made_by)) made_by = n.czxid;
  std::vector<std::pair<seat*, const trace*>> mine;
  for (std::size_t i = 0; i < seats_.size(); ++i)
    for (const auto& n : under[i])
      if (may_be_ours(n) && (made_by == 0 || n.czxid == made_by)) mine.emplace_back(&seats_[i], &n);
  // What is written in a bare node is whose it is, to everybody: one with other data is not taken.
  bool one_each = mine.size() == seats_.size() && (made_by != 0 || !terms_.bare);
  for (std::size_t i = 0; i < seats_.size() && one_each; ++i)
    one_each = mine[i].first == &seats_[i] && mine[i].second->czxid == mine[0].second->czxid;
  if (one_each) {
    token_ = czxid_ = mine[0].second->czxid;
    known_in_ = where;
    for (const auto& [s, n] : mine) take_seat(*s, n->path);
    co_return error_code{};
  }
  std::vector<asking<requests::nothing>> removing;
  {
    const together in_one_write{*port_};
    for (const auto& [s, n] : mine) {
      port_->claimed.add(n->path, n->czxid);  // nobody else takes it for its own meanwhile
      removing.push_back(ask(requests::remove(port_->defaults(), n->path, any_version), where));
    }
  }
  error_code ec;
  for (const auto& each : removing) {
    const auto removed = co_await each;
    if (removed.ec && removed.ec != errc::no_node) ec = removed.ec;
  }
  for (const auto& [s, n] : mine) port_->claimed.remove(n->path, n->czxid);
  co_return ec;
}

// This session's nodes under one parent that are or may be ours.
task<error_code> contender::look_for(seat& s, const std::string& id, place where,
                                     std::vector<trace>& into) {
  std::vector<std::string> paths;
  const auto listing = ask(requests::ephemerals(port_->defaults(), s.child({})), where);
  const auto mine = co_await listing;
  if (mine.ec == errc::unimplemented) {  // a server before 3.6
    const auto reading = ask(requests::children(port_->defaults(), s.parent, {}), where);
    const auto all = co_await reading;
    if (all.ec && all.ec != errc::no_node) co_return all.ec;
    for (const auto& name : all.value.names) paths.push_back(s.child(name));
  } else if (mine.ec) {
    co_return mine.ec;
  } else {
    paths = mine.value;
  }
  const bool unique = terms_.rule == rule::unique_name;
  const auto prefix = s.child(unique ? terms_.name : terms_.layout.name_prefix(terms_.role));
  const auto not_ours = [&](const std::string& path) {
    return !path.starts_with(prefix) || path.find('/', prefix.size()) != path.npos ||
           (unique && path != prefix);
  };
  std::erase_if(paths, not_ours);
  // Others know most of them to be theirs. Only if ours is not among the rest it may be one of
  // those: under the name of a sibling's that is gone.
  const auto known = std::partition(paths.begin(), paths.end(), [&](const std::string& path) {
    return !port_->claimed.has_name(path);
  });
  const auto unclaimed = static_cast<std::size_t>(known - paths.begin());
  bool found = false;
  for (std::size_t next = 0; next < paths.size();) {
    // Of bare nodes that are as good as each other, all are wanted.
    if (found && (!terms_.bare || next >= unclaimed)) break;
    const auto end = std::min(next < unclaimed ? unclaimed : paths.size(), next + read_together);
    std::vector<asking<get_result>> reading;
    {
      const together in_one_write{*port_};
      for (auto i = next; i < end; ++i)
        reading.push_back(ask(requests::get(port_->defaults(), paths[i], {}), where));
    }
    error_code ec;
    for (const auto& each : reading) {
      const auto node = co_await each;
      const auto& path = paths[next++];
      if (node.ec && node.ec != errc::no_node) ec = node.ec;
      if (node.ec || node.value.stat.ephemeral_owner != session_) continue;
      const auto shown = read_badge(node.value.data).id;
      const bool ours = terms_.bare ? node.value.data == terms_.owner : shown == id;
      const auto czxid = node.value.stat.czxid;
      if ((!ours || terms_.bare) && port_->claimed.contains(path, czxid)) continue;  // a sibling's
      if (ours || shown.empty()) into.push_back({path, czxid, ours});
      found = found || ours;
    }
    if (ec) co_return ec;
  }
  co_return error_code{};
}

// Containers, so that the server removes them some time after the last contender has gone.
task<error_code> contender::make_parents() {
  co_return co_await make_paths(port_, shared_from_this(), terms_.parents, terms_.own_levels,
                                create_mode::container);
}

// A node of the name that we need is there. With a unique name that is the holder's. With numbers,
// the counter stands at its last one, which can be had again when that node has gone.
task<error_code> contender::wait_for_the_name(seat& s) {
  const bool unique = terms_.rule == rule::unique_name;
  s.other =
      unique ? terms_.name : terms_.layout.name_prefix(terms_.role) + number_text(last_number);
  if (!terms_.patient) {
    seen_holder_ = s.other_path();
    s.other.clear();
    co_return errc::taken;
  }
  const auto ec = co_await wait_until_gone(s);
  stop_watching(s);
  s.other.clear();
  co_return ec == errc::no_node ? error_code{} : ec;
}

}  // namespace conclave::recipes
