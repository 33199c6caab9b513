// Sends many asynchronous requests in batches.
//
// The command line uses only the public API. conclave/inspect.hpp reads the nodes of recipes in
// batches, but it has no functions for the nodes of `znode` commands or for the items of a queue.
// in_batches() sends the requests for those nodes and items.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "conclave/client.hpp"

namespace conclave::cli {

// Returns true if the error of a reply concerns the connection and not the node.
inline bool is_connection_error(const error_code& ec) {
  return ec == errc::not_connected || ec == errc::connection_loss || ec == errc::session_expired ||
         ec == errc::closed || ec == errc::auth_failed ||
         ec == boost::asio::error::operation_aborted;
}

// Calls start(i, done) for each i below n. `start` sends a request whose handler calls done() last.
// Returns when all replies have arrived.
template <class Start>
void in_batches(client& zk, std::size_t n, Start start) {
  constexpr std::size_t most = 512;  // well below client_options::max_outstanding
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t left = 0;
  const auto done = [&] {
    const std::lock_guard lock{mutex};
    // Notify with the mutex locked. Otherwise the waiting function could return and destroy
    // `changed` before the notification.
    if (--left == 0) changed.notify_one();
  };
  for (std::size_t begin = 0; begin < n; begin += most) {
    const auto end = std::min(begin + most, n);
    left = end - begin;
    {
      const auto together = zk.begin_batch();
      for (auto i = begin; i < end; ++i) start(i, done);
    }
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] { return left == 0; });
  }
}

}  // namespace conclave::cli
