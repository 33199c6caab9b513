// Surveys again and again, as things change, on a thread of its own.
//
// An idle tree costs nothing: one recursive watch tells that something has changed. It is taken
// away with the first event and set again with the next look, so that a busy tree costs a look in
// each interval and not an event for each change. Servers without such watches (before ZooKeeper
// 3.6) are looked at in every interval.
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
  // Both are called on that thread: with each inventory, and with why there is none.
  follower(client& zk, subject what, std::function<void(inventory)> seen,
           std::function<void(const error&)> failed);
  // Closes the client, which ends reads that wait for a connection.
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
  bool watches_known_ = true;  // to the server
  std::vector<std::string> watched_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool stirred_ = false;
  std::jthread thread_;  // the last: it uses the others
};

}  // namespace conclave::cli
