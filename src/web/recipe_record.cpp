#include "web/recipe_record.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "web/json.hpp"
#include "web/paths.hpp"

namespace conclave::web {
namespace {

using kind = recipe_info::kind;

constexpr std::size_t max_listed = 20'000;
constexpr std::size_t max_sessions = 100;
constexpr std::size_t max_summary = 3;  // holders and waiters in the summary

// Returns the layout if the sequence numbers alone decide who holds the recipe.
std::optional<layout> ordered_layout(const recipe_info& r) {
  if (r.what != kind::lock && r.what != kind::read_write_lock && r.what != kind::election)
    return {};
  for (const auto& l : layout::known())
    if (l.name() == r.layout) return l;
  return {};
}

json::object summary_of(const contender_info& c, moment since) {
  json::object o{{"owner", c.owner}, {"since_us", since}};
  if (c.owner.empty()) o["node"] = last_name(c.node);
  if (c.session_id != 0) o["session"] = session_text(c.session_id);
  return o;
}

json::object to_json(const histogram& h) {
  json::array counts;
  for (const auto n : h.counts) counts.emplace_back(n);
  return {{"counts", std::move(counts)}, {"sum", h.sum}, {"total", h.total}};
}

}  // namespace

recipe_record::recipe_record(const recipe_info& info, std::uint64_t id,
                             const hold_log::shared_parts& shared, moment at)
    : id_{id},
      ids_{shared.ids},
      log_{shared},
      names_{ordered_layout(info)},
      order_{log_},
      last_used_{at},
      handoff_rate_{at},
      push_rate_{at},
      pop_rate_{at} {
  info_.path = info.path;
  info_.layout = info.layout;
  info_.what = info.what;
}

void recipe_record::created(const std::string& node, moment at) {
  last_used_ = at;
  const auto name = last_name(node);
  if (info_.what == kind::queue) {
    if (is_recipe_node(name)) push_rate_.add(at);
    return;
  }
  if (!names_ || !was_inspected_) return;
  if (const auto c = names_->parse(name)) order_.add(c->number, {node, c->role, at});
}

void recipe_record::deleted(const std::string& node, moment at) {
  last_used_ = at;
  const auto name = last_name(node);
  if (info_.what == kind::queue) {
    if (is_recipe_node(name)) pop_rate_.add(at);
    return;
  }
  if (!names_ || !was_inspected_) return;
  if (const auto c = names_->parse(name)) order_.remove(c->number, at);
}

moment recipe_record::since_of(const contender_info& c) const {
  if (names_) {
    const auto parsed = names_->parse(last_name(c.node));
    if (parsed)
      if (const auto at = order_.all().find(parsed->number); at != order_.all().end())
        return at->second.since;
  }
  return moment_of(c.since) + clock_offset_.value_or(0);
}

hold_log::grant recipe_record::grant_of(const contender_info& c, const reading& r) const {
  const auto offset = clock_offset_.value_or(0);
  const auto since = since_of(c);
  hold_log::grant g;
  if (c.granted && (c.granted->exact() || !was_inspected_)) {
    g.at = std::min(moment_of(c.granted->earliest) + offset, r.at);
    g.is_exact = c.granted->exact();
  } else {
    g.at = was_inspected_ ? r.at : since;
    g.is_exact = was_inspected_;
  }
  if (g.is_exact) g.waited = g.at - since;
  return g;
}

void recipe_record::inspected(recipe_info info, const reading& r) {
  clock_offset_ = r.clock_offset;
  info_ = std::move(info);
  if (info_.in_use()) last_used_ = r.at;
  if (names_)
    inspected_in_order(r);
  else
    inspected_without_order(r);
  for (const auto& c : info_.contenders)
    if (c.holds && c.readable) log_.describe(c.node, c.owner, c.session_id);
  was_inspected_ = true;
}

void recipe_record::not_found(const reading& r) {
  recipe_info none;
  none.path = info_.path;
  none.layout = info_.layout;
  none.what = info_.what;
  none.permits = info_.permits;
  const auto used = last_used_;
  inspected(std::move(none), r);
  last_used_ = used;
}

// The events since the inspection began have been applied before, so the order may be newer than
// the inspection.
void recipe_record::inspected_in_order(const reading& r) {
  std::unordered_map<std::string_view, const contender_info*> by_node;
  for (const auto& c : info_.contenders) {
    by_node.emplace(c.node, &c);
    const auto parsed = names_->parse(last_name(c.node));
    if (!parsed || r.deleted->contains(c.node)) continue;
    if (order_.all().contains(parsed->number)) continue;
    order_.add_found(
        parsed->number,
        {c.node, parsed->role, std::min(moment_of(c.since) + clock_offset_.value_or(0), r.at)});
  }
  std::vector<std::int32_t> gone;
  for (const auto& [number, c] : order_.all())
    if (!by_node.contains(c.node) && c.since < r.began) gone.push_back(number);
  for (const auto number : gone) order_.remove(number, r.at);
  order_.update_found([&](const wait_order::contender& c) {
    const auto at = by_node.find(c.node);
    if (at != by_node.end()) return grant_of(*at->second, r);
    return hold_log::grant{r.at, true, r.at - c.since, false};
  });
}

void recipe_record::inspected_without_order(const reading& r) {
  std::unordered_set<std::string_view> holders;
  for (const auto& c : info_.contenders)
    if (c.holds) holders.insert(c.node);
  std::vector<std::string> gone;
  for (const auto& [node, h] : log_.open())
    if (!holders.contains(node) || r.deleted->contains(node)) gone.push_back(node);
  for (const auto& node : gone) {
    const auto at = r.deleted->find(node);
    log_.end(node, at == r.deleted->end() ? r.at : at->second);
  }
  for (const auto& c : info_.contenders) {
    if (!c.holds || log_.holds(c.node)) continue;
    auto g = grant_of(c, r);
    // The node of a permit or claim is created at the grant, so it does not show the wait.
    if (info_.what == kind::semaphore || info_.what == kind::queue) g.waited.reset();
    g.is_handoff = was_inspected_ && !gone.empty();
    log_.begin(c.node, g);
  }
}

entry_list recipe_record::contender_entries() {
  ++turn_;
  entry_list all;
  all.reserve(std::min(info_.contenders.size(), max_listed));
  for (const auto& c : info_.contenders) {
    if (all.size() == max_listed) break;
    auto& e = entries_[c.node];
    const auto since = since_of(c);
    e.used = turn_;
    if (!e.entry || e.owner != c.owner || e.since != since || e.holds != c.holds ||
        e.asked != c.asked_to_release || e.readable != c.readable) {
      e.owner = c.owner;
      e.since = since;
      e.holds = c.holds;
      e.asked = c.asked_to_release;
      e.readable = c.readable;
      const auto id = e.entry ? e.entry->id : ++ids_;
      json::object o{{"id", id}, {"node", c.node}, {"owner", c.owner}, {"since_us", since}};
      if (c.session_id != 0) o["session"] = session_text(c.session_id);
      if (c.holds) o["holds"] = true;
      if (info_.what == kind::read_write_lock) o["role"] = to_string(c.role);
      if (c.asked_to_release) o["asked"] = true;
      if (!c.readable) o["unreadable"] = true;
      if (const auto* const h = c.holds ? log_.find(c.node) : nullptr) {
        o["granted_us"] = h->begin;
        if (!h->begin_is_exact) o["grant_is_exact"] = false;
      }
      if (c.holds || info_.what != kind::semaphore) o["token"] = std::to_string(c.fencing_token);
      e.entry = std::make_shared<const list_entry>(list_entry{id, to_text(o)});
    }
    all.push_back(e.entry);
  }
  std::erase_if(entries_, [&](const auto& e) { return e.second.used != turn_; });
  return all;
}

std::string recipe_record::charts() const {
  return to_text(
      json::object{{"waits", to_json(log_.wait_times())}, {"holds", to_json(log_.hold_times())}});
}

std::shared_ptr<const recipe_view> recipe_record::view(moment at, std::string_view deadlock) {
  auto v = std::make_shared<recipe_view>();
  v->id = id_;
  v->path = info_.path;
  v->layout = info_.layout;
  v->kind = info_.what;
  v->contenders = contender_entries();
  v->holds = log_.entries();
  v->charts = charts();
  v->has_metrics = has_metrics_;
  v->handoffs = log_.handoffs();
  v->queue = info_.queue;
  v->pushed = push_rate_.total();
  v->popped = pop_rate_.total();
  for (; handoffs_counted_ < log_.handoffs(); ++handoffs_counted_) handoff_rate_.add(at);

  json::array holders, first;
  moment oldest_hold = 0;
  for (const auto& c : info_.contenders) {
    if (c.session_id != 0 && v->sessions.size() < max_sessions) v->sessions.push_back(c.session_id);
    const auto since = since_of(c);
    if (!c.holds) {
      ++v->waiters;
      if (v->oldest_wait == 0 || since < v->oldest_wait) v->oldest_wait = since;
      if (first.size() < max_summary) first.push_back(summary_of(c, since));
      continue;
    }
    ++v->holders;
    const auto* const h = log_.find(c.node);
    const auto begin = h == nullptr ? since : h->begin;
    if (oldest_hold == 0 || begin < oldest_hold) oldest_hold = begin;
    if (holders.size() == max_summary) continue;
    auto o = summary_of(c, begin);
    if (h != nullptr && !h->begin_is_exact) o["is_exact"] = false;
    holders.push_back(std::move(o));
  }
  const auto handoffs = handoff_rate_.per_second(at);
  const auto pushes = push_rate_.per_second(at);
  const auto pops = pop_rate_.per_second(at);
  has_rates_ = handoffs + pushes + pops > 0;
  json::object o{{"id", id_},
                 {"path", info_.path},
                 {"layout", info_.layout},
                 {"kind", to_string(info_.what)},
                 {"holders", std::move(holders)},
                 {"holder_count", v->holders},
                 {"waiter_count", v->waiters},
                 {"first_waiters", std::move(first)},
                 {"handoffs", v->handoffs},
                 {"handoffs_per_second", handoffs}};
  if (v->oldest_wait != 0) o["oldest_wait_us"] = v->oldest_wait;
  if (oldest_hold != 0) o["oldest_hold_us"] = oldest_hold;
  if (info_.permits) o["permits"] = *info_.permits;
  if (!deadlock.empty()) o["deadlock"] = deadlock;
  if (info_.what == kind::queue) {
    const auto& q = info_.queue;
    o["queue"] = json::object{{"length", q.items},           {"claimed", q.claimed},
                              {"set_aside", q.set_aside},    {"producers", q.producers},
                              {"consumers", q.consumers},    {"waiting", q.waiting},
                              {"pushed", v->pushed},         {"popped", v->popped},
                              {"pushed_per_second", pushes}, {"popped_per_second", pops}};
  }
  v->summary = to_text(o);
  return v;
}

}  // namespace conclave::web
