// Options of a lock. The defaults are right for most uses.
//
// Callbacks of one lock run one at a time, on the I/O thread or on a thread that calls into this
// library. The library holds none of its internal locks while a callback runs. Callbacks must not
// block and must not throw. No callback runs after the lock's destructor has returned.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "conclave/hold.hpp"
#include "conclave/layout.hpp"

namespace conclave {

struct lock_options {
  lock_options() = default;

  // How the lock's nodes are named. All programs that share the lock must use the same layout.
  conclave::layout layout = conclave::layout::curator();

  // Describes this contender to people who inspect the lock. If empty, the host name and the
  // process id are used.
  std::string owner;

  // Called once for each acquisition that waits in the server's wait queue, with its position: the
  // number of contenders ahead. Not called for try_lock(), which never waits, nor for callers that
  // wait for another caller of the same object. If this callback is set, an acquisition that finds
  // contenders ahead lists the whole wait queue.
  std::function<void(std::size_t before_us)> on_enqueued;

  // on_acquired runs when the lock is granted. on_released runs when the program releases it by
  // unlock(), by a guard or by the lock's destructor. Every acquisition ends with exactly one call
  // of on_released or on_lost. on_acquired runs before the acquiring call returns or completes, and
  // on_released runs before unlock() returns. Exception: if a callback of this lock is already
  // running, the thread that runs it runs these callbacks next, and the call may return before they
  // have run.
  std::function<void(const hold&)> on_acquired;
  std::function<void(const hold&)> on_released;

  // on_suspended runs when the connection is lost while the lock is held. on_restored runs when the
  // session has reconnected in time. See hold.hpp.
  std::function<void(const hold&)> on_suspended;
  std::function<void(const hold&)> on_restored;
  // on_lost runs when the hold was lost for the reason `why`. See hold::lost() and
  // hold::why_lost().
  std::function<void(const hold&, error_code why)> on_lost;

  // on_revocation runs when another program asks the holder to release the lock
  // (conclave::ask_to_release, Curator's Revoker). The lock stays held until the holder unlocks it.
  // Setting this callback costs one read for each acquisition.
  std::function<void(const hold&)> on_revocation;

  // Lets most acquisitions and hand-offs avoid listing the wait queue. If false, every acquisition
  // and hand-off lists it, as in other libraries.
  bool tickets = true;
};

}  // namespace conclave
