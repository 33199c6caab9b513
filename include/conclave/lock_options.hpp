// Options for a lock. The defaults are right for most uses.
//
// Callbacks of one lock run one at a time, on the I/O thread or on a thread that calls into this
// library. The library holds none of its internal locks while a callback runs. Callbacks must not
// block and must not throw. No callback runs after the lock's destructor has returned.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "conclave/hold.hpp"
#include "conclave/layout.hpp"
#include "conclave/task_holds.hpp"

namespace conclave {

struct lock_options {
  lock_options() = default;

  // How the lock's nodes are named. All programs that share the lock must use the same layout.
  conclave::layout layout = conclave::layout::curator();

  // Describes this contender to people who inspect the lock. If empty, the host name and the
  // process id are used.
  std::string owner;

  // Called once for each acquisition that waits in the server's wait queue. The argument is the
  // position of the waiter: the number of contenders ahead. Not called for try_lock(), which never
  // waits, nor for callers that wait for another caller of the same object. If this callback is
  // set, an acquisition that finds contenders ahead lists the whole wait queue.
  std::function<void(std::size_t before_us)> on_enqueued;

  // on_acquired runs when the lock is granted. on_released runs when the program releases it by
  // unlock(), by a guard or by the lock's destructor. Every acquisition ends with exactly one call
  // of on_released or on_lost. on_acquired runs before the acquiring call returns or completes, and
  // on_released runs before unlock() returns. There is one exception: if another callback of this
  // lock is running at that moment, the thread that runs it also runs on_acquired or on_released
  // next. The call may then return before that callback has run.
  std::function<void(const hold&)> on_acquired;
  std::function<void(const hold&)> on_released;

  // on_suspended runs when the connection is lost while the lock is held. on_restored runs when the
  // session has reconnected in time. See hold.hpp.
  std::function<void(const hold&)> on_suspended;
  std::function<void(const hold&)> on_restored;
  // on_lost runs when the hold is lost. `why` is the reason. See hold::lost() and hold::why_lost().
  std::function<void(const hold&, error_code why)> on_lost;

  // on_revocation runs when another program asks the holder to release the lock
  // (conclave::ask_to_release, Curator's Revoker). The lock stays held until the holder unlocks it.
  // Setting this callback costs one read for each acquisition.
  std::function<void(const hold&)> on_revocation;

  // How long the lock stays with this lock object after unlock(). 0 means that unlock() releases
  // it. While the lock stays, the next lock call of this object sends no request and does not wait
  // for the server. A lock stays only while no other contender exists. When another contender
  // appears, an idle lock is released at once, and a lock in use is released by unlock().
  //
  // All holds of the object in this time have the same fencing token. If the process is killed, or
  // loses its connection, other contenders wait for the lock until its session ends, as they do for
  // any holder. So prefer short times, for example a second.
  //
  // Threads of this process that wait for the kept lock acquire it in no particular order.
  //
  // Offered by mutex, recursive_mutex, multi_mutex, and the writers of shared_mutex. Readers of
  // shared_mutex do not exclude each other, so they release the lock. semaphore and named_mutex
  // refuse keep_for and local_handoffs with errc::invalid_argument. A permit may be free for
  // others, and waiters of a named_mutex have no node that the holder could see.
  std::chrono::nanoseconds keep_for{0};
  // How many local callers may be granted the lock one after another while other contenders wait. A
  // local caller is a waiting call of this lock object. With the default, unlock() hands the lock
  // over to the first contender in the server's wait queue. Higher values need fewer hand-offs
  // between sessions, but other contenders wait longer.
  std::size_t local_handoffs = 0;

  // Returns what the caller's task holds while it waits for this lock. The data of the waiter's
  // node then shows it, so that tools can detect deadlocks (wait_graph.hpp). Called once for each
  // call that acquires the lock, by the thread that makes the call. Must not throw.
  //
  // If this is not set, the library knows what a thread with a blocking call holds. For an
  // asynchronous call, it knows nothing. List locks as certain only if the task cannot release them
  // before the wait ends, and nothing cancels the wait. Ignored by elections.
  std::function<task_holds()> held_while_waiting;

  // Lets most acquisitions and hand-offs avoid listing the wait queue. If false, every acquisition
  // and hand-off lists it, as in other libraries.
  bool tickets = true;
};

}  // namespace conclave
