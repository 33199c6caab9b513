// A mutual exclusion lock shared by processes and machines.
//
//   conclave::client zk{"zk1,zk2,zk3"};
//   conclave::mutex m{zk, "/locks/invoices"};
//   {
//     std::scoped_lock guard{m};
//     ...
//   }
//
// See exclusive_lock.hpp for the member functions, ownership, order and errors.
//
// Cost: locking a free lock takes one round trip. unlock() does not wait for the server. Unlocking
// and immediately locking again usually takes one request. A hand-off takes a constant number of
// small messages, however many contenders wait.
//
// The same lock can be used by Curator's InterProcessMutex, kazoo's Lock or ZooKeeper's WriteLock,
// if lock_options::layout matches.
#pragma once

#include <string>

#include "conclave/exclusive_lock.hpp"

namespace conclave {

class mutex : public exclusive_lock {
 public:
  // Sends nothing. The lock's nodes are children of `path`. Conclave creates `path` with the first
  // contender, and the server removes it some time after the last contender has left. Existing data
  // in `path` is not changed. Do not write data to `path` while the lock is in use, because a
  // release may overwrite it. Throws errc::invalid_path, or errc::invalid_argument if the layout
  // has no exclusive locks.
  mutex(client& c, std::string path, lock_options options = {});
};

}  // namespace conclave
