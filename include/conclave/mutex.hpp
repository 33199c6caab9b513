// A mutual exclusion lock across processes and machines.
//
//   conclave::client zk{"zk1,zk2,zk3"};
//   conclave::mutex m{zk, "/locks/invoices"};
//   {
//     std::scoped_lock guard{m};
//     ...
//   }
//
// Its calls, and what holds for them, are those of exclusive_lock.hpp.
//
// Cost: locking a free lock is one round trip, unlocking does not wait for anything, and unlocking
// and locking again at once is one request. A hand-off is a constant number of small messages
// however many wait: it wakes the next one, and lets the one behind that get ready.
//
// Shared with Curator's InterProcessMutex, kazoo's Lock or ZooKeeper's WriteLock, by
// lock_options::layout.
#pragma once

#include <string>

#include "conclave/exclusive_lock.hpp"

namespace conclave {

class mutex : public exclusive_lock {
 public:
  // Sends nothing. The lock's nodes will be children of `path`, which is made with the first of
  // them and removed by the server some time after the last. Data that somebody has written into
  // it before is left alone; do not write into it while the lock is used: a release may write over
  // it. Throws errc::invalid_path.
  mutex(client& c, std::string path, lock_options options = {});
};

}  // namespace conclave
