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

constexpr std::size_t max_remembered_events = 100'000;
constexpr std::size_t max_with_metrics = 50;
constexpr std::size_t max_notices = 10;

bool shows_the_same(const recipe_view& a, const recipe_view& b) {
  return a.summary == b.summary && a.contenders == b.contenders && a.holds == b.holds &&
         a.charts == b.charts && a.has_metrics == b.has_metrics;
}

// Returns nothing if no server has answered.
std::function<std::optional<removed_nodes>()> reader_of(
    const std::function<std::vector<std::string>()>& read_session_ends) {
  if (!read_session_ends) return {};
  return [read_session_ends]() -> std::optional<removed_nodes> {
    removed_nodes found;
    bool is_known = false;
    for (const auto& reply : read_session_ends())
      is_known = parse_session_ends(reply, found) || is_known;
    if (!is_known) return {};
    return found;
  };
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
      session_ends_{reader_of(subject_.read_session_ends), {900ms, 60s}, [this] { inbox_.wake(); }},
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

void live_model::ask_to_release(std::string node) { inbox_.add_release_request(std::move(node)); }

// --- events, on the client's I/O thread

void live_model::on_event(const watch_event& e) {
  const auto at = now();  // before on_event(), which may wait for a reader of the cache
  cache_->on_event(e);
  inbox_.add(e, at);
}

void live_model::on_session_event(const session_event&) {
  {
    const std::lock_guard lock{mutex_};
    const bool is_connected = zk_.state() == session_state::connected;
    if (connection_.is_connected == is_connected) return;
    connection_ = {is_connected, now()};
  }
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
      outdated_.tree = true;
      tree_.is_complete = false;
      try {
        tree_.error = e.what();
        publish();
      } catch (const std::exception&) {  // for example, out of memory; the next turn publishes
        outdated_.state = true;
      }
      inbox_.pause(stop, 500ms);
    }
  }
}

void live_model::set_watches() {
  if (watching_ != watching::not_set) return;
  for (const auto& path : inspected_paths(subject_.paths)) {
    try {
      zk_.add_watch(path, watch_mode::recursive, watcher_);
    } catch (const error& e) {
      if (is_connection_error(e.code())) throw;  // other errors: an older server
      watching_ = watching::unsupported;
      return;
    }
  }
  watching_ = watching::set;
  outdated_.tree = true;
  cache_->clear();
}

void live_model::turn(const std::stop_token& stop) {
  // Events that arrive before the next inspection are applied together.
  const auto received = inbox_.wait(stop, next_inspection_, next_turn());
  if (stop.stop_requested()) return;
  apply(received);
  release(received.release_requests);
  const auto time = clock::now();
  const bool has_work = outdated_.tree || !changed_paths_.empty() || time >= next_full_inspection_;
  if (watching_ != watching::not_set && has_work && time >= next_inspection_) inspect_changed();
  if (outdated_.graph && tree_.is_complete && clock::now() >= next_graph_) update_graph();
  if (has_rates_ && clock::now() >= next_rates_) {
    next_rates_ = clock::now() + 1s;
    for (const auto& [k, record] : records_)
      if (record->has_rates()) changed_records_.insert(record->id());
    outdated_.state = outdated_.state || !changed_records_.empty();
  }
  if (subject_.read_server && clock::now() >= next_server_) update_server();
  update_losses();
  if (outdated_.state) publish();
}

live_model::clock::time_point live_model::next_turn() const {
  auto at = next_full_inspection_;
  if (outdated_.tree || !changed_paths_.empty()) at = std::min(at, next_inspection_);
  if (outdated_.graph && tree_.is_complete)
    at = std::min(at, std::max(next_graph_, next_inspection_));
  if (has_rates_) at = std::min(at, next_rates_);
  if (subject_.read_server) at = std::min(at, next_server_);
  return std::max(at, clock::now() + 5ms);
}

void live_model::apply(const inbox::contents& received) {
  if (!received.are_complete) {
    outdated_.tree = true;
    cache_->clear();
  }
  for (const auto& e : received.events) apply(e);
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
    case type::watch_lost: watching_ = watching::not_set; [[fallthrough]];
    case type::possibly_missed: outdated_.tree = true; return;
  }
  const bool is_created = e.event.type == type::created;
  (is_created ? created_ : deleted_)[path] = e.at;
  if (created_.size() > max_remembered_events) created_.clear();
  if (deleted_.size() > max_remembered_events) deleted_.clear();
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
  if (is_items_folder(last_name(parent))) report(parent_path(parent), true);
  changed_paths_.insert(changed_recipe(path));
}

// Returns the path to inspect after a change of this node.
std::string live_model::changed_recipe(const std::string& node) const {
  if (auto recipe = recipe_path_of(node); recipe != node)
    return is_below_subject(recipe) ? recipe : node;
  // The name shows nothing. The node may still belong to a recipe that is known.
  for (auto path = node; path != "/"; path = parent_path(path)) {
    const auto known = records_.lower_bound({path, {}, {}});
    if (known != records_.end() && std::get<0>(known->first) == path) return path;
  }
  return node;
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
  outdated_.state = true;
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
  outdated_.state = false;

  const auto s = std::make_shared<live_state>();
  s->recipes.reserve(views_.size());
  for (const auto& [id, view] : views_) s->recipes.push_back(view);
  s->unreadable = tree_.unreadable;
  json::array notices;
  for (const auto& n : notices_)
    notices.push_back(
        json::object{{"id", n.id}, {"at_us", n.at}, {"text", n.text}, {"is_error", n.is_error}});
  s->notices = to_text(notices);
  s->graph = graph_;
  s->deadlocks = certain_deadlocks_;
  s->possible_deadlocks = possible_deadlocks_;
  s->totals = totals_;
  s->knows_losses = applied_ends_ != nullptr;
  s->is_complete = tree_.is_complete;
  s->omits_recipes = tree_.omits_recipes;
  s->error = tree_.error;
  s->read_at = tree_.read_at;
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
