#include "web/live_model.hpp"

#include <algorithm>
#include <utility>

#include "conclave/contenders.hpp"
#include "web/json.hpp"
#include "web/paths.hpp"

namespace conclave::web {
namespace {

using namespace std::chrono_literals;
using kind = recipe_info::kind;

constexpr std::size_t max_waiting_events = 100'000;
constexpr std::size_t max_with_metrics = 50;
constexpr std::size_t max_notices = 10;

// The last ten characters of a sequential node's name are digits.
bool is_sequential(std::string_view name) {
  constexpr std::size_t digits = 10;
  return name.size() >= digits &&
         std::all_of(name.end() - digits, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The folders in which semaphores and queues keep their nodes.
bool is_folder_of_recipe(std::string_view name) {
  return name == "locks" || name == "leases" || name == "entries" || name == "taken";
}

// If the path is in a sibling node of a recipe (see inspected_paths()), returns the recipe's path.
std::optional<std::string> recipe_of_sibling(const std::string& path) {
  for (std::size_t end = 1; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const auto part = std::string_view{path}.substr(0, end);
    for (const std::string_view suffix : {".conclave", "-__lock__"})
      if (last_name(part).size() > suffix.size() && part.ends_with(suffix))
        return std::string{part.substr(0, part.size() - suffix.size())};
  }
  return {};
}

bool shows_the_same(const recipe_view& a, const recipe_view& b) {
  return a.summary == b.summary && a.contenders == b.contenders && a.holds == b.holds &&
         a.charts == b.charts && a.has_metrics == b.has_metrics;
}

bool is_connection_error(const error_code& ec) {
  return ec == errc::not_connected || ec == condition::outcome_unknown ||
         ec == condition::session_dead;
}

}  // namespace

live_model::live_model(client& zk, subject what, std::function<void()> on_change)
    : zk_{zk},
      subject_{std::move(what)},
      on_change_{std::move(on_change)},
      watcher_{[this](const watch_event& e) { on_event(e); }},
      session_events_{
          zk_.on_session_event([this](const session_event& e) { on_session_event(e); })},
      thread_{[this](const std::stop_token& s) { run(s); }} {
  const std::lock_guard lock{mutex_};
  connection_ = {zk_.state() == session_state::connected, now()};
}

live_model::~live_model() {
  thread_.request_stop();
  zk_.close();  // afterwards no watcher is called
}

std::shared_ptr<const live_state> live_model::state() const {
  const std::lock_guard lock{mutex_};
  return state_;
}

live_model::connection_state live_model::connection() const {
  const std::lock_guard lock{mutex_};
  return connection_;
}

void live_model::ask_to_release(std::string node) {
  {
    const std::lock_guard lock{mutex_};
    if (release_requests_.size() >= 100) return;
    release_requests_.push_back(std::move(node));
  }
  changed_.notify_all();
}

// --- events, on the client's I/O thread

void live_model::on_event(const watch_event& e) {
  cache_->on_event(e);
  const auto at = now();
  {
    const std::lock_guard lock{mutex_};
    if (events_.size() >= max_waiting_events) {
      events_lost_ = true;
      return;
    }
    events_.push_back({e, at});
    if (!waits_for_events_) return;
  }
  changed_.notify_all();
}

void live_model::on_session_event(const session_event&) {
  {
    const std::lock_guard lock{mutex_};
    const bool is_connected = zk_.state() == session_state::connected;
    if (connection_.is_connected == is_connected) return;
    connection_ = {is_connected, now()};
  }
  changed_.notify_all();
  on_change_();
}

// --- the model's thread

void live_model::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      set_watches();
      turn(stop);
    } catch (const std::exception& e) {
      if (stop.stop_requested()) return;
      must_read_all_ = true;
      is_complete_ = false;
      try {
        error_ = e.what();
        publish();
      } catch (const std::exception&) {  // for example, out of memory; the next turn publishes
        must_publish_ = true;
      }
      std::unique_lock lock{mutex_};
      changed_.wait_for(lock, stop, 500ms, [] { return false; });
    }
  }
}

void live_model::set_watches() {
  if (!has_recursive_watches_ || is_watching_) return;
  for (const auto& path : inspected_paths(subject_.paths)) {
    try {
      zk_.add_watch(path, watch_mode::recursive, watcher_);
    } catch (const error& e) {
      if (is_connection_error(e.code())) throw;  // other errors: an older server
      has_recursive_watches_ = false;
      return;
    }
  }
  is_watching_ = true;
  must_read_all_ = true;
  cache_->clear();
}

void live_model::turn(const std::stop_token& stop) {
  std::vector<timed_event> events;
  std::vector<std::string> nodes;
  {
    // Events that arrive before the next inspection are applied together.
    std::unique_lock lock{mutex_};
    changed_.wait_until(lock, stop, next_inspection_,
                        [this] { return !release_requests_.empty(); });
    waits_for_events_ = true;
    changed_.wait_until(lock, stop, next_turn(),
                        [this] { return !events_.empty() || !release_requests_.empty(); });
    waits_for_events_ = false;
    if (stop.stop_requested()) return;
    events.swap(events_);
    nodes.swap(release_requests_);
    if (std::exchange(events_lost_, false)) {
      must_read_all_ = true;
      cache_->clear();
    }
  }
  apply(events);
  release(nodes);
  const auto time = clock::now();
  const bool has_work = must_read_all_ || !changed_paths_.empty() ||
                        (!has_recursive_watches_ || time >= next_full_inspection_);
  if (is_watching_ || !has_recursive_watches_)
    if (has_work && time >= next_inspection_) inspect_changed();
  if (graph_is_stale_ && is_complete_ && clock::now() >= next_graph_) update_graph();
  if (has_rates_ && clock::now() >= next_rates_) {
    next_rates_ = clock::now() + 1s;
    for (const auto& [k, record] : records_)
      if (record->has_rates()) changed_records_.insert(record->id());
    must_publish_ = must_publish_ || !changed_records_.empty();
  }
  if (subject_.read_server && clock::now() >= next_server_) update_server();
  if (must_publish_) publish();
}

live_model::clock::time_point live_model::next_turn() const {
  auto at = next_full_inspection_;
  if (must_read_all_ || !changed_paths_.empty()) at = std::min(at, next_inspection_);
  if (graph_is_stale_ && is_complete_) at = std::min(at, std::max(next_graph_, next_inspection_));
  if (has_rates_) at = std::min(at, next_rates_);
  if (subject_.read_server) at = std::min(at, next_server_);
  return std::max(at, clock::now() + 5ms);
}

void live_model::apply(const std::vector<timed_event>& events) {
  for (const auto& e : events) apply(e);
}

void live_model::apply(const timed_event& e) {
  using type = watch_event::kind;
  ++event_count_;
  const auto& path = e.event.path;
  switch (e.event.type) {
    case type::created:
    case type::deleted: break;
    case type::changed:
    case type::children_changed: changed_paths_.insert(changed_recipe(path)); return;
    case type::session_ended:
    case type::watch_lost: is_watching_ = false; [[fallthrough]];
    case type::possibly_missed: must_read_all_ = true; return;
  }
  const bool is_created = e.event.type == type::created;
  (is_created ? created_ : deleted_)[path] = e.at;
  if (created_.size() > max_waiting_events) created_.clear();
  if (deleted_.size() > max_waiting_events) deleted_.clear();
  const auto report = [&](const std::string& parent, bool only_queues) {
    for (auto r = records_.lower_bound({parent, {}, {}});
         r != records_.end() && std::get<0>(r->first) == parent; ++r) {
      if (only_queues && r->second->info().what != kind::queue) continue;
      if (is_created)
        r->second->created(path, e.at);
      else
        r->second->deleted(path, e.at);
    }
  };
  const auto parent = parent_path(path);
  report(parent, false);
  if (last_name(parent) == "entries") report(parent_path(parent), true);  // kazoo's LockingQueue
  changed_paths_.insert(changed_recipe(path));
}

// Returns the path to inspect after a change of this node.
std::string live_model::changed_recipe(const std::string& node) const {
  if (auto recipe = recipe_of_sibling(node); recipe && is_below_subject(*recipe)) return *recipe;
  for (auto path = node;; path = parent_path(path)) {
    const auto known = records_.lower_bound({path, {}, {}});
    if (known != records_.end() && std::get<0>(known->first) == path) return path;
    if (path == "/") break;
  }
  const auto name = last_name(node);
  auto path = is_recipe_node(name) || is_sequential(name) ? parent_path(node) : node;
  if (is_folder_of_recipe(last_name(path))) path = parent_path(path);
  return is_below_subject(path) ? path : node;
}

bool live_model::is_below_subject(const std::string& path) const {
  return std::any_of(subject_.paths.begin(), subject_.paths.end(),
                     [&](const auto& root) { return is_at_or_below(path, root); });
}

void live_model::release(const std::vector<std::string>& nodes) {
  for (const auto& node : nodes) {
    const contender_info* holder = nullptr;
    std::string path;
    for (const auto& [k, record] : records_) {
      if (!is_lock(record->info()) || !is_at_or_below(node, record->info().path)) continue;
      for (const auto& c : record->info().contenders)
        if (c.holds && c.node == node) holder = &c;
      if (holder != nullptr) {
        path = record->info().path;
        break;
      }
    }
    if (holder == nullptr) {
      add_notice(node + " does not hold a lock any more", true);
      continue;
    }
    const auto name = holder->owner.empty() ? std::string{last_name(holder->node)} : holder->owner;
    try {
      conclave::ask_to_release(zk_, node);
      add_notice("Asked " + name + " to release " + path, false);
    } catch (const error& e) {
      add_notice("Cannot ask " + name + " to release " + path + ": " + e.what(), true);
    }
  }
}

void live_model::add_notice(const std::string& text, bool is_error) {
  if (notices_.size() == max_notices) notices_.erase(notices_.begin());
  notices_.push_back({++ids_, now(), text, is_error});
  must_publish_ = true;
}

// --- publishing

void live_model::publish() {
  const auto at = now();
  for (const auto& [k, record] : records_) {
    if (!changed_records_.contains(record->id())) continue;
    if (!record->has_metrics() && with_metrics_ < max_with_metrics) {
      record->set_has_metrics();
      ++with_metrics_;
    }
    const auto deadlock = deadlocked_paths_.find(record->info().path);
    auto view = record->view(at, deadlock == deadlocked_paths_.end() ? "" : deadlock->second);
    // An unchanged part keeps its pointer, so that it is not sent again.
    auto& known = views_[record->id()];
    if (!known || !shows_the_same(*known, *view)) known = std::move(view);
  }
  changed_records_.clear();
  has_rates_ = std::any_of(records_.begin(), records_.end(),
                           [](const auto& r) { return r.second->has_rates(); });
  must_publish_ = false;

  const auto s = std::make_shared<live_state>();
  s->recipes.reserve(views_.size());
  for (const auto& [id, view] : views_) s->recipes.push_back(view);
  s->unreadable = unreadable_;
  json::array notices;
  for (const auto& n : notices_)
    notices.push_back(
        json::object{{"id", n.id}, {"at_us", n.at}, {"text", n.text}, {"is_error", n.is_error}});
  s->notices = to_text(notices);
  s->graph = graph_;
  s->deadlocks = certain_deadlocks_;
  s->possible_deadlocks = possible_deadlocks_;
  s->totals = totals_;
  s->is_complete = is_complete_;
  s->omits_recipes = omits_recipes_;
  s->error = error_;
  s->read_at = read_at_;
  s->server = server_;
  s->node_reads = cache_->reads();
  s->inspections = inspections_;
  s->events = event_count_;
  {
    const std::lock_guard lock{mutex_};
    s->version = state_->version + 1;
    state_ = s;
  }
  on_change_();
}

}  // namespace conclave::web
