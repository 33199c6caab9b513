// Locks that are acquired without a blocked thread: those of this library, and a naive one.
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

// `mode` is one of the modes in lock_load.hpp. In the naive lock, every waiter watches the list of
// all contenders and reads it again at every change. This is a common first attempt. The other
// locks avoid it.
std::unique_ptr<asynchronous_lock> make_asynchronous_lock(client& zk, const std::string& mode_name,
                                                          const std::string& path);

}  // namespace conclave::bench
