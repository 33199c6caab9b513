// Many requests at once, as many as a client lets be under way, in few writes.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "conclave/client.hpp"

namespace conclave::cli {

// Calls start(i, done) for each i below n; it begins a request whose handler ends with done().
// Returns when all are answered.
template <class Start>
void in_batches(client& zk, std::size_t n, Start start) {
  constexpr std::size_t most = 512;  // well below client_options::max_outstanding
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t left = 0;
  const auto done = [&] {
    const std::lock_guard lock{mutex};
    // Told with the lock held: whoever waits may not be gone before this is through.
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
