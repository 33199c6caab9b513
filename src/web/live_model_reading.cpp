// The part of the model that reads: inspections, deadlocks, and the numbers of the server.
#include <algorithm>
#include <charconv>
#include <utility>

#include "web/graph.hpp"
#include "web/json.hpp"
#include "web/live_model.hpp"
#include "web/paths.hpp"

namespace conclave::web {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t max_changed_paths = 200;
constexpr std::size_t max_records = 20'000;
constexpr auto min_pause = 50ms;
constexpr auto full_inspection_interval = 60s;
// How long the page shows a recipe that nobody uses. The second time is for programs that use many
// paths, each only once.
constexpr moment unused_record_lifetime = 600 * one_second;
constexpr moment short_record_lifetime = 5 * one_second;
constexpr std::size_t max_owner_bytes = 256;

// Other programs may store any data in their nodes. Does not cut a UTF-8 character in two.
void clip(std::string& text) {
  if (text.size() <= max_owner_bytes) return;
  auto end = max_owner_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  text.shrink_to_fit();
  text += "\u2026";
}

}  // namespace

void live_model::inspect_changed() {
  const auto time = clock::now();
  const bool is_watching = watching_ == watching::set;
  const bool all = outdated_.tree || !is_watching || time >= next_full_inspection_ ||
                   changed_paths_.size() > max_changed_paths;
  inspect_options options;
  options.layouts = subject_.layouts;
  if (is_watching) options.cache = cache_;
  std::vector<std::string> paths = subject_.paths;
  if (!all) paths.assign(changed_paths_.begin(), changed_paths_.end());
  recipe_record::reading r;
  r.began = now();
  changed_paths_.clear();
  outdated_.tree = true;  // unless the inspection succeeds
  auto found = inspect(zk_, paths, options);
  outdated_.tree = false;
  r.at = tree_.read_at = now();
  ++inspections_;
  tree_.error.clear();
  // The events up to the replies have arrived, because the server sends them first.
  apply(inbox_.take_events());
  if (all) {
    tree_.is_complete = true;
    tree_.omits_recipes = false;
    json::array unreadable;
    for (const auto& [path, why] : found.unreadable) {
      if (unreadable.size() == 50) break;
      unreadable.push_back(json::object{{"path", path}, {"why", why.message()}});
    }
    tree_.unreadable = to_text(unreadable);
  }
  learn_clock_offset(found.recipes);
  r.clock_offset = clock_offset_;
  r.deleted = &deleted_;
  update(std::move(found.recipes), paths, r);
  created_.clear();
  deleted_.clear();
  forget_unused(r.at);
  outdated_.graph = true;
  outdated_.state = true;

  const auto end = clock::now();
  const auto duration = end - time;
  const auto pause = is_watching ? clock::duration{min_pause} : clock::duration{1s};
  next_inspection_ = end + std::max<clock::duration>(4 * duration, pause);
  if (all)
    next_full_inspection_ =
        is_watching ? end + std::max<clock::duration>(full_inspection_interval, 50 * duration)
                    : next_inspection_;
}

// The server dates the nodes, and this machine dates the events. The smallest difference is that of
// the clocks plus the time of the fastest event.
void live_model::learn_clock_offset(const std::vector<recipe_info>& found) {
  constexpr moment ignored = 50'000;  // the clocks of one machine agree
  for (const auto& r : found)
    for (const auto& c : r.contenders) {
      const auto at = created_.find(c.node);
      if (at == created_.end() || !c.readable) continue;
      const auto offset = at->second - moment_of(c.since);
      const auto known = clock_offset_.value_or(0);
      if (offset < known - ignored || (!clock_offset_ && offset > ignored)) clock_offset_ = offset;
      if (!clock_offset_) clock_offset_ = 0;
    }
}

void live_model::update(std::vector<recipe_info> found, const std::vector<std::string>& paths,
                        recipe_record::reading r) {
  std::set<key> seen;
  for (auto& info : found) {
    key k{info.path, info.layout, info.what};
    auto at = records_.find(k);
    if (at == records_.end()) {
      if (records_.size() >= max_records) {
        tree_.omits_recipes = true;
        continue;
      }
      auto& totals = totals_[static_cast<std::size_t>(info.what)];
      const auto id = ++ids_;
      auto record = std::make_unique<recipe_record>(
          info, id, hold_log::shared_parts{totals, ids_, losses_}, r.at);
      at = records_.emplace(k, std::move(record)).first;
    }
    for (auto& c : info.contenders) clip(c.owner);
    at->second->inspected(std::move(info), r);
    changed_records_.insert(at->second->id());
    seen.insert(std::move(k));
  }
  // The paths with this prefix are adjacent in records_.
  const auto mark_unseen = [&](const std::string& prefix, const auto& belongs) {
    for (auto i = records_.lower_bound({prefix, {}, {}});
         i != records_.end() && belongs(std::get<0>(i->first)); ++i) {
      if (seen.contains(i->first)) continue;
      i->second->not_found(r);
      changed_records_.insert(i->second->id());
    }
  };
  for (const auto& path : paths) {
    if (path != "/") mark_unseen(path, [&](const std::string& p) { return p == path; });
    const auto below = path == "/" ? path : path + "/";
    mark_unseen(below, [&](const std::string& p) { return p.starts_with(below); });
  }
}

void live_model::forget_unused(moment at) {
  const auto lifetime =
      records_.size() > max_records / 2 ? short_record_lifetime : unused_record_lifetime;
  std::erase_if(records_, [&](const auto& entry) {
    auto& record = *entry.second;
    if (record.in_use() || record.last_used() > at - lifetime) return false;
    if (record.has_metrics()) --with_metrics_;
    views_.erase(record.id());
    changed_records_.erase(record.id());
    return true;
  });
}

void live_model::update_graph() {
  const auto began = clock::now();
  outdated_.graph = false;
  inspection seen;
  for (const auto& [k, record] : records_)
    if (is_lock(record->info()) && !record->info().contenders.empty())
      seen.recipes.push_back(record->info());
  const wait_graph graph{std::move(seen)};
  auto found = graph.deadlocks();
  // The recipes were read at different times. A deadlock that is already known has not changed,
  // because the watches would have reported it.
  std::erase_if(found, [this](const deadlock& d) {
    const bool is_known = std::any_of(deadlocks_.begin(), deadlocks_.end(),
                                      [&](const auto& known) { return known.same_nodes(d); });
    return !is_known && !confirm(zk_, d);
  });
  deadlocks_ = std::move(found);
  auto drawn = draw_graph(graph, deadlocks_);
  for (const auto& [k, record] : records_) {
    const auto& path = record->info().path;
    const auto before = deadlocked_paths_.find(path);
    const auto after = drawn.deadlocked_paths.find(path);
    const bool was = before != deadlocked_paths_.end();
    const bool is = after != drawn.deadlocked_paths.end();
    if (was != is || (is && before->second != after->second)) changed_records_.insert(record->id());
  }
  deadlocked_paths_ = std::move(drawn.deadlocked_paths);
  certain_deadlocks_ = drawn.deadlocks;
  possible_deadlocks_ = drawn.possible_deadlocks;
  if (!graph_ || *graph_ != drawn.json) {
    graph_ = share(std::move(drawn.json));
    outdated_.state = true;
  }
  const auto end = clock::now();
  next_graph_ = end + std::max<clock::duration>(100ms, 10 * (end - began));
}

// A hold ends before the server is asked, so the reply says why it ended.
void live_model::update_losses() {
  if (const auto answer = session_ends_.last(); answer && answer != applied_ends_) {
    applied_ends_ = answer;
    losses_.apply(answer->result, answer->asked_at);
    outdated_.state = true;
  }
  if (losses_.is_waiting() || !applied_ends_) session_ends_.request();
}

// The reply has a line "name<tab>value" for each number.
void live_model::update_server() {
  next_server_ = clock::now() + 1s;
  const auto reply = subject_.read_server();
  std::map<std::string, double> numbers;
  for (std::size_t begin = 0; begin < reply.size();) {
    const auto end = std::min(reply.find('\n', begin), reply.size());
    const auto tab = reply.find('\t', begin);
    if (tab < end) {
      double value = 0;
      const auto* const last = reply.data() + end;
      const auto [stop, ec] = std::from_chars(reply.data() + tab + 1, last, value);
      if (ec == std::errc{} && stop == last) numbers[reply.substr(begin, tab - begin)] = value;
    }
    begin = end + 1;
  }
  if (server_ && *server_ == numbers) return;
  server_ = std::make_shared<const std::map<std::string, double>>(std::move(numbers));
  outdated_.state = true;
}

}  // namespace conclave::web
