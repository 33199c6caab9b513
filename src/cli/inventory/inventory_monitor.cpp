#include "cli/inventory/inventory_monitor.hpp"

#include "cli/nodes/in_batches.hpp"

namespace conclave::cli {

inventory_monitor::inventory_monitor(client& zk, subject what,
                                     std::function<void(inspection)> on_inventory,
                                     std::function<void(const error&)> on_error)
    : zk_{zk},
      subject_{std::move(what)},
      on_inventory_{std::move(on_inventory)},
      on_error_{std::move(on_error)},
      watcher_{[this](const watch_event&) { tree_changed(); }},
      thread_{[this](const std::stop_token& s) { run(s); }} {}

inventory_monitor::~inventory_monitor() {
  thread_.request_stop();
  zk_.close();  // afterwards no watcher is called
}

void inventory_monitor::tree_changed() {
  {
    const std::lock_guard lock{mutex_};
    tree_changed_ = true;
  }
  changed_.notify_all();
}

void inventory_monitor::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto started = std::chrono::steady_clock::now();
    bool wait_for_event = false;
    try {
      // Set the watches before reading, so that no change is missed.
      set_watches();
      auto s = inspect(zk_, subject_.roots, subject_.options);
      if (stop.stop_requested()) return;
      on_inventory_(std::move(s));
      wait_for_event = has_recursive_watches_;
    } catch (const error& e) {
      if (stop.stop_requested()) return;
      on_error_(e);
    }
    {
      std::unique_lock lock{mutex_};
      if (wait_for_event) changed_.wait(lock, stop, [this] { return tree_changed_; });
    }
    if (stop.stop_requested()) return;
    try {
      remove_watches();
    } catch (const error&) {
      // The next turn sets the watches again, which is harmless.
    }
    std::unique_lock lock{mutex_};
    changed_.wait_until(lock, stop, started + subject_.interval, [] { return false; });
    tree_changed_ = false;
  }
}

void inventory_monitor::set_watches() {
  if (!has_recursive_watches_ || !watched_.empty()) return;
  for (auto& path : inspected_paths(subject_.roots)) {
    try {
      zk_.add_watch(path, watch_mode::recursive, watcher_);
    } catch (const error& e) {
      if (is_connection_error(e.code())) throw;
      has_recursive_watches_ = false;
      return;
    }
    watched_.push_back(std::move(path));
  }
}

void inventory_monitor::remove_watches() {
  for (const auto& path : std::exchange(watched_, {}))
    zk_.remove_watch(path, watch_kind::any, watcher_);
}

}  // namespace conclave::cli
