// Options for a lock. The defaults are right for most uses.
//
// Callbacks of one lock object run one at a time, in the order of their events, on the I/O thread
// or on a thread that calls into this library. For example, on_acquired of a mutex never runs
// before on_released of its previous hold. The library holds none of its internal mutexes while a
// callback runs. So a callback may call unlock(), start async_ operations and destroy the lock
// object. It must not block: on the I/O thread, blocking calls throw errc::would_deadlock. It must
// not throw: an exception that escapes from a callback terminates the program.
//
// The lock's destructor releases the lock. Before it returns, all callbacks of earlier events and
// of this release have run. The destructor waits for a callback that another thread is running, and
// runs the rest itself. So the caller must not own a mutex that a callback locks. A callback that
// runs during the destructor must not use the lock object. No callback runs after the destructor
// has returned. There is one exception: if a callback itself calls the destructor, that callback
// continues. The rest of the callbacks then run inside it, before the destructor returns.
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

  // How the lock's nodes are named. All programs that share the lock must use the same layout. If a
  // lock call finds a contender of another layout that Conclave knows, it throws
  // errc::layout_mismatch (layout.hpp).
  conclave::layout layout = conclave::layout::curator();

  // Describes this contender to people who inspect the lock. It may contain any characters. It is
  // part of the data of the contender's node, so keep it short. If empty, the host name and the
  // process id are used.
  std::string owner;

  // Called once for each acquisition that waits in the server's wait queue. The argument is the
  // position of the waiter: the number of all contenders ahead. A reader's position also counts the
  // readers ahead, which do not block it. For a lock on several paths, it is the position on the
  // first path (in byte order) on which the acquisition waits.
  //
  // A semaphore has its wait queue at PATH/locks. Holders of permits are not in this queue and do
  // not count. The first waiter waits only for a permit, and the callback is not called for it.
  //
  // The callback is not called again if the session expires and the waiter queues again. It is not
  // called for try_lock(), which never waits, nor for callers that wait for another caller of the
  // same object. If this callback is set, an acquisition that finds contenders ahead lists the
  // whole wait queue.
  std::function<void(std::size_t position)> on_enqueued;

  // on_acquired runs when the lock is granted. on_released runs when the program releases it by
  // unlock(), by a guard or by the lock's destructor. Every granted acquisition ends with exactly
  // one call of on_released or on_lost. A lost lock must still be unlocked, but that unlock() calls
  // neither of them.
  //
  // on_acquired runs before the acquiring call returns or completes, and on_released runs before
  // unlock() returns. There is one exception: another thread may be running callbacks of this lock
  // object at that time. That thread then also runs on_acquired or on_released, and the call may
  // return before that.
  //
  // With keep_for or local_handoffs, each acquisition still calls on_acquired, and its unlock()
  // calls on_released, even if the lock stays with the object. When the object itself releases the
  // lock later, no callback runs.
  std::function<void(const hold&)> on_acquired;
  std::function<void(const hold&)> on_released;

  // on_suspended runs when the connection is lost while the lock is held, or right after
  // on_acquired if there is no connection at that time. on_restored runs when the client has
  // reconnected and verified the lock's node. If the lock is released or lost before that,
  // on_restored does not run. See hold.hpp.
  std::function<void(const hold&)> on_suspended;
  std::function<void(const hold&)> on_restored;
  // on_lost runs when the hold is lost. `why` is the reason. See hold::lost() and hold::why_lost().
  std::function<void(const hold&, error_code why)> on_lost;

  // on_revocation runs when another program asks the holder to release the lock (ask_to_release()
  // in contenders.hpp, Curator's Revoker). If the request arrives before the grant, it runs after
  // the grant. It can run more than once for a request, and only once for several requests. The
  // lock stays held until the holder unlocks it. A kept lock that nobody uses (keep_for) is
  // released without a call. Setting this callback costs one read of the contender's node for each
  // acquisition.
  std::function<void(const hold&)> on_revocation;

  // --- grants without the server: keep_for and local_handoffs
  //
  // With these options, a lock object can grant its lock to another call of the same object without
  // the server. All these holds have the same fencing token (hold::fencing_token()).
  //
  // The options are for mutex, recursive_mutex, multi_mutex, and the writers of shared_mutex. They
  // do not apply to readers, because readers do not exclude each other. The constructors of
  // semaphore and named_mutex throw errc::invalid_argument if one of the options is set. A new
  // contender of a semaphore may get another free permit, so its arrival does not mean that it
  // needs the kept permit. Waiters of a named_mutex have no node, so the holder cannot see them.

  // With a time above 0, unlock() does not release the lock, but keeps it with this lock object.
  // While the lock is kept, the next lock call of the object sends no request and does not wait for
  // the server. There is one exception: after each acquisition from the server, the object checks
  // whether other contenders exist, and the next call may wait for this check. The object releases
  // the lock when no caller has used it for this time, counted from the last unlock().
  //
  // A lock is kept only if it was free when the object acquired it, and only while no other
  // contender exists. Every other child of the lock's path counts as a contender. When another
  // contender appears, a kept lock that nobody uses is released at once, and a lock in use is
  // released by unlock(). A try_lock() of another object may still fail, because it does not wait
  // for the release.
  //
  // If the process is killed or loses its connection, other contenders wait for the kept lock until
  // its session ends, as they do for any holder. So prefer short times, for example a second.
  //
  // Threads of this process that wait for the kept lock acquire it in no particular order.
  std::chrono::nanoseconds keep_for{0};
  // How many waiting calls of this lock object may be granted the lock one after another, before it
  // is handed over to the first contender in the server's wait queue. With the default, each
  // unlock() hands it over. Higher values need fewer hand-offs between sessions, but other
  // contenders wait longer.
  //
  // This option does not need keep_for. With keep_for, grants do not count while no other contender
  // exists. Without keep_for, the object does not know about other contenders. So it releases the
  // lock after this number of grants, even if no other contender waits.
  std::size_t local_handoffs = 0;

  // Returns the locks that the caller's task holds while it waits for this lock. The data of the
  // waiter's node then names them, so that tools can detect deadlocks (wait_graph.hpp). Called once
  // by each call that acquires the lock, including try_lock(), on the thread that makes the call. A
  // call that is granted a kept lock may omit it. Must not throw.
  //
  // The result replaces what the library knows. If this is not set, the library knows which locks
  // the thread of a blocking call holds. For an asynchronous call, it knows nothing.
  //
  // List a lock in task_holds::certain only if the task cannot release it before the wait ends, and
  // only if the program does not cancel the wait. A time limit or a stop_token of the call does not
  // matter: the library records in the node's data that the wait can end without a grant.
  std::function<task_holds()> held_while_waiting;

  // A ticket is the sequence number of a contender's node. With tickets, the release of a mutex or
  // writer writes its ticket into the data of the lock's path, and the next contenders read it
  // there. So most of their acquisitions and hand-offs do not list the wait queue. If false, every
  // acquisition and hand-off lists it, as in other libraries, and a release does not change the
  // data of the path. Programs with different values can share a lock.
  bool tickets = true;
};

}  // namespace conclave
