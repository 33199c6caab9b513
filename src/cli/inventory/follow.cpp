#include "cli/inventory/follow.hpp"

#include "cli/inventory/ask_all.hpp"

namespace conclave::cli {

follower::follower(client& zk, subject what, std::function<void(inventory)> seen,
                   std::function<void(const error&)> failed)
    : zk_{zk},
      what_{std::move(what)},
      seen_{std::move(seen)},
      failed_{std::move(failed)},
      watcher_{[this](const watch_event&) { stirred(); }},
      thread_{[this](const std::stop_token& s) { run(s); }} {}

follower::~follower() {
  thread_.request_stop();
  zk_.close();  // afterwards no watcher is called
}

void follower::stirred() {
  {
    const std::lock_guard lock{mutex_};
    stirred_ = true;
  }
  changed_.notify_all();
}

void follower::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto begun = std::chrono::steady_clock::now();
    bool told = false;
    try {
      // Set the watches before reading, so that no change is missed.
      set_watches();
      auto s = take_inventory(zk_, what_.roots, what_.names, what_.unused_too);
      if (stop.stop_requested()) return;
      seen_(std::move(s));
      told = watches_known_;
    } catch (const error& e) {
      if (stop.stop_requested()) return;
      failed_(e);
    }
    {
      std::unique_lock lock{mutex_};
      if (told) changed_.wait(lock, stop, [this] { return stirred_; });
    }
    if (stop.stop_requested()) return;
    try {
      take_away_watches();
    } catch (const error&) {
      // The next turn sets the watches again, which is harmless.
    }
    std::unique_lock lock{mutex_};
    changed_.wait_until(lock, stop, begun + what_.interval, [] { return false; });
    stirred_ = false;
  }
}

void follower::set_watches() {
  if (!watches_known_ || !watched_.empty()) return;
  for (auto& path : with_neighbours(what_.roots)) {
    try {
      zk_.add_watch(path, watch_mode::recursive, watcher_);
    } catch (const error& e) {
      if (no_server(e.code())) throw;
      watches_known_ = false;
      return;
    }
    watched_.push_back(std::move(path));
  }
}

void follower::take_away_watches() {
  for (const auto& path : std::exchange(watched_, {}))
    zk_.remove_watch(path, watch_kind::any, watcher_);
}

}  // namespace conclave::cli
