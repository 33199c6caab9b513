#include "client/inspect/stuck_waits.hpp"

#include <algorithm>
#include <utility>

namespace conclave::client_impl {

bool is_in_wait_graph(const recipe_info& r) noexcept {
  using kind = recipe_info::kind;
  return r.what == kind::lock || r.what == kind::read_write_lock || r.what == kind::semaphore;
}

stuck_waits::stuck_waits(const inspection& seen, level l) : seen_{seen}, level_{l} {
  add_contenders();
  add_acquisitions();
  add_links();
  for (bool changed = true; changed;) {
    changed = find_who_stays();
    for (std::size_t r = 0; r < seen_.recipes.size(); ++r) {
      if (!is_in_wait_graph(seen_.recipes[r])) continue;
      const bool is_semaphore = seen_.recipes[r].what == recipe_info::kind::semaphore;
      if (is_semaphore ? end_waits_of_semaphore(r) : end_waits_of_lock(r)) changed = true;
    }
  }
}

// --- the graph

void stuck_waits::add_contenders() {
  for (std::size_t r = 0; r < seen_.recipes.size(); ++r) {
    first_.push_back(all_.size());
    const auto& contenders = seen_.recipes[r].contenders;
    for (std::size_t c = 0; c < contenders.size(); ++c) {
      auto& e = all_.emplace_back();
      e.at = {r, c};
      e.info = &contenders[c];
    }
  }
}

void stuck_waits::add_acquisitions() {
  for (auto& e : all_) {
    if (e.info->id.empty() || !is_in_wait_graph(seen_.recipes[e.at.recipe])) continue;
    const auto [found, is_new] = by_id_.emplace(e.info->id, acquisitions_.size());
    if (is_new) acquisitions_.emplace_back().first = e.info;
    auto& a = acquisitions_[found->second];
    // One transaction creates all nodes of an acquisition.
    if (a.first->session_id != e.info->session_id ||
        a.first->fencing_token != e.info->fencing_token)
      a.is_ambiguous = true;
    e.acquisition = found->second;
  }
  for (auto& e : all_)
    if (e.acquisition != none && acquisitions_[e.acquisition].is_ambiguous) e.acquisition = none;
}

// Returns true if calls for this lock may fail instead of waiting, because the path is also used
// with a different layout, or by another library for a different kind of lock.
bool stuck_waits::may_be_refused(std::size_t recipe) const {
  const auto& all = seen_.recipes;
  const auto shares_path = [&](std::size_t other) { return all[other].path == all[recipe].path; };
  if (recipe > 0 && shares_path(recipe - 1)) return true;
  if (recipe + 1 < all.size() && shares_path(recipe + 1)) return true;
  bool has_exclusive = false, has_shared = false, has_foreign = false;
  for (const auto& c : all[recipe].contenders) {
    (c.role == layout::role::exclusive ? has_exclusive : has_shared) = true;
    has_foreign = has_foreign || c.id.empty();
  }
  return has_exclusive && has_shared && has_foreign;
}

void stuck_waits::add_links() {
  std::size_t recipe = none;
  bool refused = false;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    auto& e = all_[i];
    if (std::exchange(recipe, e.at.recipe) != e.at.recipe) refused = may_be_refused(e.at.recipe);
    const auto& w = e.info->wait;
    if (e.info->holds || !e.info->readable || !is_in_wait_graph(seen_.recipes[e.at.recipe]))
      continue;
    const bool is_proven = w && !w->has_time_limit && e.acquisition != none && !refused;
    if (level_ == level::certain && !is_proven) continue;
    e.is_stuck = true;
    const auto link = [&](std::size_t to, bool certain) {
      auto& a = acquisitions_[to];
      if (a.is_ambiguous) return;
      (certain ? e.listed : e.maybe_listed).push_back(to);
      (certain ? a.waits : a.possible_waits).push_back(i);
      ++(certain ? a.stuck : a.possible_stuck);
    };
    if (e.acquisition != none) link(e.acquisition, true);
    const auto link_all = [&](const std::vector<std::string>& ids, bool certain) {
      for (const auto& id : ids)
        if (const auto found = by_id_.find(id); found != by_id_.end()) link(found->second, certain);
    };
    if (w) link_all(w->task.certain, true);
    if (level_ == level::certain) continue;
    if (w) link_all(w->task.possible, false);
    e.is_open = !w || w->task.may_hold_others;
    if (!e.is_open) continue;
    auto& session = by_session_[e.info->session_id];
    session.open.push_back(i);
    ++session.stuck;
  }
}

// --- dropping assumptions

bool stuck_waits::find_who_stays() {
  bool changed = false;
  for (auto& e : all_) {
    bool stays = e.is_stuck;
    if (e.acquisition != none) {
      const auto& a = acquisitions_[e.acquisition];
      stays = stays || a.stuck > 0 || a.possible_stuck > 0;
    }
    if (!stays && e.info->holds && is_in_wait_graph(seen_.recipes[e.at.recipe]))
      if (const auto s = by_session_.find(e.info->session_id); s != by_session_.end())
        stays = s->second.stuck > 0;
    changed = changed || stays != e.stays;
    e.stays = stays;
  }
  return changed;
}

void stuck_waits::end_wait(entry& e) {
  e.is_stuck = false;
  for (const auto a : e.listed) --acquisitions_[a].stuck;
  for (const auto a : e.maybe_listed) --acquisitions_[a].possible_stuck;
  if (e.is_open) --by_session_[e.info->session_id].stuck;
}

bool stuck_waits::end_waits_of_lock(std::size_t recipe) {
  bool changed = false;
  blocking_sessions ahead, writers_ahead;
  for (std::size_t c = 0; c < seen_.recipes[recipe].contenders.size(); ++c) {
    auto& e = all_[first_[recipe] + c];
    const bool reads = e.info->role == layout::role::reader;
    if (e.is_stuck && !(reads ? writers_ahead : ahead).block(e)) {
      end_wait(e);
      changed = true;
    }
    if (!e.stays) continue;
    ahead.add(e.info->session_id);
    if (!reads) writers_ahead.add(e.info->session_id);
  }
  return changed;
}

// Returns how many permits must stay in use so that this wait cannot end. Returns `none` if that is
// not known.
std::size_t stuck_waits::permits_for(const recipe_info& r, const entry& waiter) const {
  const auto recorded = r.permits && *r.permits > 0
                            ? std::optional{static_cast<std::size_t>(*r.permits)}
                            : std::nullopt;
  // With a different number, the call fails instead of waiting.
  const bool agrees = recorded && waiter.info->wait && waiter.info->wait->permits == recorded;
  if (level_ == level::certain) return agrees ? *recorded : none;
  if (recorded) return *recorded;
  const auto holders = std::count_if(r.contenders.begin(), r.contenders.end(),
                                     [](const contender_info& c) { return c.holds; });
  return holders == 0 ? none : static_cast<std::size_t>(holders);
}

// The first waiter waits for a permit. The others wait for the waiters ahead.
bool stuck_waits::end_waits_of_semaphore(std::size_t recipe) {
  bool changed = false;
  const auto& r = seen_.recipes[recipe];
  std::size_t staying = 0;
  std::unordered_map<std::int64_t, std::size_t> staying_of_session;
  blocking_sessions ahead;
  for (std::size_t c = 0; c < r.contenders.size(); ++c) {
    auto& e = all_[first_[recipe] + c];
    if (e.info->holds && e.stays) {
      ++staying;
      ++staying_of_session[e.info->session_id];
    }
    if (!e.is_stuck) continue;
    const auto own =
        e.is_open ? staying_of_session.find(e.info->session_id) : staying_of_session.end();
    const auto others = staying - (own == staying_of_session.end() ? 0 : own->second);
    if (!ahead.block(e) && others < permits_for(r, e)) {
      end_wait(e);
      changed = true;
      continue;
    }
    ahead.add(e.info->session_id);
  }
  return changed;
}

// --- causes

bool stuck_waits::may_block(const entry& blocker, const entry& waiter) const {
  return blocker.stays && !(waiter.is_open && blocker.info->session_id == waiter.info->session_id);
}

std::size_t stuck_waits::first_stuck(const std::vector<std::size_t>& waits) const {
  const auto found =
      std::find_if(waits.begin(), waits.end(), [&](std::size_t i) { return all_[i].is_stuck; });
  return found == waits.end() ? none : *found;
}

stuck_waits::cause stuck_waits::cause_of(std::size_t blocker) const {
  const auto& b = all_[blocker];
  if (b.is_stuck) return {blocker, blocker, true};
  if (b.acquisition != none) {
    const auto& a = acquisitions_[b.acquisition];
    if (const auto w = first_stuck(a.waits); w != none) return {blocker, w, true};
    if (const auto w = first_stuck(a.possible_waits); w != none) return {blocker, w, false};
  }
  return {blocker, first_stuck(by_session_.at(b.info->session_id).open), false};
}

std::vector<stuck_waits::cause> stuck_waits::causes_of(std::size_t wait) const {
  const auto& e = all_[wait];
  const auto& r = seen_.recipes[e.at.recipe];
  const auto first = first_[e.at.recipe];
  std::vector<cause> causes;
  if (r.what != recipe_info::kind::semaphore) {
    for (auto i = first; i < wait; ++i)
      if (may_block(all_[i], e) && conflict(*all_[i].info, *e.info)) return {cause_of(i)};
    return causes;
  }
  const auto permits = permits_for(r, e);
  for (auto i = first; i < wait && all_[i].info->holds && causes.size() < permits; ++i)
    if (may_block(all_[i], e)) causes.push_back(cause_of(i));
  if (causes.size() == permits) return causes;
  for (auto i = first; i < wait; ++i)
    if (all_[i].is_stuck && may_block(all_[i], e)) return {cause_of(i)};
  return {};
}

std::vector<wait_graph::link> stuck_waits::links_of(std::size_t contender) const {
  std::vector<wait_graph::link> links;
  const auto& e = all_[contender];
  const auto add = [&](const std::vector<std::size_t>& waits, bool certain) {
    for (const auto i : waits)
      if (i != contender && std::none_of(links.begin(), links.end(),
                                         [&](const auto& l) { return l.waiter == all_[i].at; }))
        links.push_back({all_[i].at, certain});
  };
  if (e.acquisition != none) {
    add(acquisitions_[e.acquisition].waits, true);
    add(acquisitions_[e.acquisition].possible_waits, false);
  }
  if (e.info->holds && is_in_wait_graph(seen_.recipes[e.at.recipe]))
    if (const auto s = by_session_.find(e.info->session_id); s != by_session_.end())
      add(s->second.open, false);
  return links;
}

}  // namespace conclave::client_impl
