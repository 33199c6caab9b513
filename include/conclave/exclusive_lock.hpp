// The common base of the exclusive locks mutex, multi_mutex and named_mutex. It meets the
// standard's TimedLockable requirements, so std::scoped_lock, std::unique_lock and std::lock work
// with it.
//
// Ownership: the lock object owns the lock, not a thread. Any thread or coroutine may unlock it. If
// the object is already locked, lock() waits, even on the thread that locked it. (recursive_mutex
// allows recursive locking.) Several threads may use one object. They acquire the lock in the order
// of their calls, except while a lock is kept (lock_options::keep_for). Only one of them has a node
// in the server's wait queue at any time.
//
// Order: contenders acquire the lock in the order in which the server created their nodes. This
// includes contenders of other libraries. A waiter keeps its position when the connection is lost.
// If the session expires, the waiter queues again at the end.
//
// Loss: a session holds the lock, and sessions can expire. hold() reports the loss, see hold.hpp. A
// lost lock must still be unlocked, so that other callers of the same object can acquire it.
//
// Errors: if a lock function throws, it has not acquired the lock. The try_ functions return false
// on contention or timeout and throw on any other error:
// - errc::not_connected: no server could be reached within client_options::connect_wait. (If the
//   deadline of a timed call passes before that, the call returns false. A waiter that already has
//   a node at the server does not throw: it keeps its position and waits.)
// - errc::no_auth: an ACL forbids the client to use the lock's nodes.
// - errc::layout_mismatch: other contenders use a different node layout.
// - errc::permits_mismatch: the path is in use as a semaphore.
// - errc::waiter_node_deleted: somebody deleted the waiter's node.
// - errc::closed: the client was closed.
// - errc::would_deadlock: the call was made on the I/O thread.
//
// Lifetime: a lock works until its client is closed or destroyed. Closing the client releases the
// lock and reports it as lost (errc::closed).
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "conclave/client.hpp"
#include "conclave/detail/locking.hpp"
#include "conclave/hold.hpp"
#include "conclave/lock_options.hpp"
#include "conclave/scoped_hold.hpp"

namespace conclave {

class exclusive_lock {
 public:
  exclusive_lock(const exclusive_lock&) = delete;
  exclusive_lock& operator=(const exclusive_lock&) = delete;

  void lock();
  // Returns false if a stop was requested before the lock was granted. Later stop requests have no
  // effect.
  [[nodiscard]] bool lock(std::stop_token stop);
  // Does not wait for other holders, only for the server's reply. If the previous attempt found
  // another holder, the call first checks whether the node of that holder still exists. If so, the
  // call returns false and writes nothing.
  [[nodiscard]] bool try_lock();
  // The deadline covers connecting, waiting and reconnecting. Never returns false before the
  // deadline.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return lock_before(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    return lock_before(detail::deadline_at(t));
  }
  // Returns at once. The library sends the release and retries until the server confirms it or the
  // session ends. No effect if nothing is held. If the ACL of the lock's path allows create but not
  // delete, the lock is released only when the session ends.
  void unlock() noexcept;

  // Completes with void(error_code). If the call is cancelled, its contender leaves the wait queue.
  template <class Token>
  auto async_lock(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_lock, std::forward<Token>(token), role);
  }
  // Completes with void(error_code, bool). With a duration of zero or less, behaves like
  // try_lock().
  template <class Rep, class Period, class Token>
  auto async_try_lock_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<bool>(state_, &detail::start_try_lock, std::forward<Token>(token), role,
                                  detail::deadline_after(d));
  }
  // Complete with void(error_code, scoped_hold). The scoped_hold releases the lock when it is
  // destroyed. It is empty if async_try_scoped_lock_for() times out.
  template <class Token>
  auto async_scoped_lock(Token&& token) {
    return detail::initiate<scoped_hold>(state_, &detail::start_scoped_lock,
                                         std::forward<Token>(token), role, detail::no_deadline);
  }
  template <class Rep, class Period, class Token>
  auto async_try_scoped_lock_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<scoped_hold>(state_, &detail::start_scoped_lock,
                                         std::forward<Token>(token), role,
                                         detail::deadline_after(d));
  }
  // Completes with void(error_code) when the server confirms the release or the session ends.
  // Cannot be cancelled.
  template <class Token>
  auto async_unlock(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_unlock, std::forward<Token>(token), role);
  }

  // The current hold, or the last one if the lock is not held. See hold.hpp.
  conclave::hold hold() const;
  std::int64_t fencing_token() const { return hold().fencing_token(); }
  bool held() const { return hold().held(); }
  std::stop_token lost() const { return hold().lost(); }

 protected:
  explicit exclusive_lock(detail::lock_pointer state);
  // Unlocks the lock if it is held. Calls that wait for the lock complete with operation_aborted.
  // Waits for a running callback, unless that callback runs on this thread.
  ~exclusive_lock();

 private:
  static constexpr auto role = layout::role::exclusive;
  bool lock_before(detail::deadline d);
  detail::lock_pointer state_;
};

}  // namespace conclave
