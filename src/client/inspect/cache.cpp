#include "client/inspect/cache.hpp"

#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace conclave {
namespace {

// Other programs may store large data in nodes that look like contenders. Such nodes are read again
// each time.
constexpr std::size_t max_cached_bytes = 4096;
constexpr std::size_t max_cached_nodes = 200'000;

}  // namespace

struct inspection_cache::state {
  mutable std::mutex mutex;
  std::unordered_map<std::string, get_result> nodes;
  std::uint64_t reads = 0;
  // While replies are pending: the nodes whose events have arrived. The replies may be older.
  bool is_reading = false;
  bool missed_events = false;
  std::unordered_set<std::string> changed_while_reading;
};

inspection_cache::inspection_cache() : state_{std::make_unique<state>()} {}
inspection_cache::~inspection_cache() = default;

void inspection_cache::on_event(const watch_event& e) {
  using kind = watch_event::kind;
  if (e.type == kind::children_changed) return;
  if (e.type != kind::created && e.type != kind::deleted && e.type != kind::changed) return clear();
  const std::lock_guard lock{state_->mutex};
  state_->nodes.erase(e.path);
  if (state_->is_reading) state_->changed_while_reading.insert(e.path);
}

void inspection_cache::clear() {
  const std::lock_guard lock{state_->mutex};
  state_->nodes.clear();
  state_->missed_events = true;
}

std::uint64_t inspection_cache::reads() const {
  const std::lock_guard lock{state_->mutex};
  return state_->reads;
}

namespace client_impl {

std::vector<reply_of<get_result>> cache_access::get_all(inspection_cache& cache, client& c,
                                                        const std::vector<std::string>& paths) {
  auto& s = *cache.state_;
  std::vector<reply_of<get_result>> all(paths.size());
  std::vector<std::string> missing;
  std::vector<std::size_t> index;
  {
    const std::lock_guard lock{s.mutex};
    s.is_reading = true;
    s.missed_events = false;
    s.changed_while_reading.clear();
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const auto at = s.nodes.find(paths[i]);
      if (at != s.nodes.end()) {
        all[i].value = at->second;
      } else {
        missing.push_back(paths[i]);
        index.push_back(i);
      }
    }
  }
  auto replies = client_impl::get_all(c, missing);
  const std::lock_guard lock{s.mutex};
  s.is_reading = false;
  s.reads += missing.size();
  if (s.nodes.size() > max_cached_nodes) s.nodes.clear();
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const bool is_current = !s.missed_events && !s.changed_while_reading.contains(missing[i]);
    if (is_current && !replies[i].ec && replies[i].value.data.size() <= max_cached_bytes)
      s.nodes[missing[i]] = replies[i].value;
    all[index[i]] = std::move(replies[i]);
  }
  return all;
}

}  // namespace client_impl
}  // namespace conclave
