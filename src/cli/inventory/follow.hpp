// Takes an inventory whenever nodes change, on a thread of its own.
//
// An idle tree costs nothing, because a recursive watch reports changes. The first event removes
// the watch, and the next inventory sets it again. So a busy tree costs one inventory for each
// interval, not one event for each change. Servers before ZooKeeper 3.6 have no such watches, so
// there it takes an inventory in every interval.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cli/inventory/inventory.hpp"

namespace conclave::cli {

class follower {
 public:
  struct subject {
    std::vector<std::string> roots;
    known_names names;
    bool unused_too = false;
    std::chrono::milliseconds interval{1000};
  };
  // Calls `seen` with each inventory and `failed` with each error, both on that thread.
  follower(client& zk, subject what, std::function<void(inventory)> seen,
           std::function<void(const error&)> failed);
  // Closes the client, to end reads that wait for a connection.
  ~follower();
  follower(const follower&) = delete;
  follower& operator=(const follower&) = delete;

 private:
  void run(const std::stop_token& stop);
  void set_watches();
  void take_away_watches();
  void stirred();

  client& zk_;
  const subject what_;
  const std::function<void(inventory)> seen_;
  const std::function<void(const error&)> failed_;
  watcher watcher_;
  bool watches_known_ = true;  // whether the server knows recursive watches
  std::vector<std::string> watched_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool stirred_ = false;
  std::jthread thread_;  // the last member, because the thread uses the others
};

}  // namespace conclave::cli
