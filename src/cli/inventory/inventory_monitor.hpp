// Runs on its own thread and inspects a tree whenever its nodes change.
//
// While nothing changes, the monitor sends no requests, because a recursive watch reports changes.
// The first event removes the watch, and the next inspection sets it again. So a busy tree costs
// one inspection for each interval, not one event for each change. Servers before ZooKeeper 3.6
// have no such watches. With these servers, the monitor inspects the tree in every interval.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/inspect.hpp"

namespace conclave::cli {

class inventory_monitor {
 public:
  struct subject {
    std::vector<std::string> roots;
    inspect_options options;
    std::chrono::milliseconds interval{1000};
  };
  // Calls `on_inventory` with each inspection and `on_error` with each error, both on the monitor's
  // thread.
  inventory_monitor(client& zk, subject what, std::function<void(inspection)> on_inventory,
                    std::function<void(const error&)> on_error);
  // Closes the client, so that reads that wait for a connection return.
  ~inventory_monitor();
  inventory_monitor(const inventory_monitor&) = delete;
  inventory_monitor& operator=(const inventory_monitor&) = delete;

 private:
  void run(const std::stop_token& stop);
  void set_watches();
  void remove_watches();
  void tree_changed();

  client& zk_;
  const subject subject_;
  const std::function<void(inspection)> on_inventory_;
  const std::function<void(const error&)> on_error_;
  watcher watcher_;
  bool has_recursive_watches_ = true;  // whether the server supports recursive watches
  std::vector<std::string> watched_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool tree_changed_ = false;
  std::jthread thread_;  // the last member, because the thread uses the others
};

}  // namespace conclave::cli
