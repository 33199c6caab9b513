#include "server/core/watch_table.hpp"

#include <algorithm>

#include "server/core/shrink.hpp"

namespace conclave::server_impl {
namespace {

constexpr std::uint8_t bit(watch_mode m) { return static_cast<std::uint8_t>(m); }

}  // namespace

void watch_table::add(std::string_view path, watcher by, watch_mode mode) {
  auto at = by_path_.find(path);
  if (at == by_path_.end()) at = by_path_.try_emplace(std::string{path}).first;
  auto& watches = at->second;
  auto w = std::find_if(watches.begin(), watches.end(),
                        [&](auto& x) { return x.connection == by.connection; });
  if (w == watches.end()) {
    watches.push_back({by.connection, 0});
    w = watches.end() - 1;
    auto& mine = by_connection_[by.connection];
    mine.peer = by.peer;
    mine.paths.insert(&at->first);
    mine.bytes += path.size();
    ++by.peer->watches;
    by.peer->watched_bytes += path.size();
    bytes_ += path.size();
    ++count_;
  }
  if (mode == watch_mode::recursive && (w->modes & bit(mode)) == 0) ++recursive_count_;
  w->modes = static_cast<std::uint8_t>(w->modes | bit(mode));
}

void watch_table::remove_from_connection(const std::string& path, connection_id connection) {
  const auto of = by_connection_.find(connection);
  of->second.paths.erase(&path);
  of->second.bytes -= path.size();
  --of->second.peer->watches;
  of->second.peer->watched_bytes -= path.size();
  bytes_ -= path.size();
  if (of->second.paths.empty()) by_connection_.erase(of);
  --count_;
}

bool watch_table::remove(std::string_view path, connection_id connection) {
  const auto at = by_path_.find(path);
  if (at == by_path_.end()) return false;
  auto& watches = at->second;
  const auto w = std::find_if(watches.begin(), watches.end(),
                              [&](auto& x) { return x.connection == connection; });
  if (w == watches.end()) return false;
  if ((w->modes & bit(watch_mode::recursive)) != 0) --recursive_count_;
  watches.erase(w);
  remove_from_connection(at->first, connection);
  if (watches.empty()) by_path_.erase(at);
  return true;
}

bool watch_table::contains(std::string_view path, connection_id connection) const {
  const auto at = by_path_.find(path);
  return at != by_path_.end() && std::any_of(at->second.begin(), at->second.end(),
                                             [&](auto& x) { return x.connection == connection; });
}

void watch_table::remove_all(connection_id connection) {
  while (true) {
    const auto of = by_connection_.find(connection);
    if (of == by_connection_.end()) return;
    remove(**of->second.paths.begin(), connection);
  }
}

std::size_t watch_table::count_of(connection_id connection) const {
  const auto of = by_connection_.find(connection);
  return of == by_connection_.end() ? 0 : of->second.paths.size();
}

std::size_t watch_table::bytes_of(connection_id connection) const {
  const auto of = by_connection_.find(connection);
  return of == by_connection_.end() ? 0 : of->second.bytes;
}

// The watches of one path belong to different connections. So duplicates can only be among the
// receivers from before this call.
void watch_table::notify(path_map::iterator at, bool is_parent, event_type type,
                         std::vector<connection_id>& receivers) {
  const auto notified_before = static_cast<std::ptrdiff_t>(receivers.size());
  const auto consume = [&](watch& w) {
    const bool recursive =
        (w.modes & bit(watch_mode::recursive)) != 0 && type != event_type::children_changed;
    const bool direct =
        !is_parent && (w.modes & (bit(watch_mode::once) | bit(watch_mode::persistent))) != 0;
    const auto end = receivers.begin() + notified_before;
    if ((recursive || direct) && std::find(receivers.begin(), end, w.connection) == end)
      receivers.push_back(w.connection);
    if (direct) w.modes = static_cast<std::uint8_t>(w.modes & ~bit(watch_mode::once));
    if (w.modes == 0) remove_from_connection(at->first, w.connection);
    return w.modes == 0;
  };
  auto& watches = at->second;
  watches.erase(std::remove_if(watches.begin(), watches.end(), consume), watches.end());
  if (watches.empty()) by_path_.erase(at);
}

void watch_table::trigger(std::string_view path, event_type type,
                          std::vector<connection_id>& receivers) {
  if (by_path_.empty()) return;
  if (const auto at = by_path_.find(path); at != by_path_.end()) notify(at, false, type, receivers);
  if (recursive_count_ == 0) return;
  while (path.size() > 1) {
    const auto slash = path.rfind('/');
    path = path.substr(0, slash == 0 ? 1 : slash);
    if (const auto at = by_path_.find(path); at != by_path_.end())
      notify(at, true, type, receivers);
  }
}

void watch_table::shrink() {
  server_impl::shrink(by_path_);
  server_impl::shrink(by_connection_);
  for (auto& [id, w] : by_connection_) server_impl::shrink(w.paths);
}

}  // namespace conclave::server_impl
