// Locks that are acquired without a thread that waits: those of this library, and a naive one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <conclave/client.hpp>

namespace conclave::bench {

class asynchronous_lock {
 public:
  virtual ~asynchronous_lock() = default;
  virtual void lock(std::function<void(error_code)> done) = 0;
  virtual void unlock() = 0;
};

// The mode is one of lock_load.hpp. In the naive lock, every waiter watches the list of all
// contenders and reads it again at every change: a common first attempt, which the other locks
// avoid.
std::unique_ptr<asynchronous_lock> make_asynchronous_lock(client& zk, const std::string& mode_name,
                                                          const std::string& path);

}  // namespace conclave::bench
