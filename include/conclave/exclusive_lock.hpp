// What all exclusive locks have in common: mutex, multi_mutex, named_mutex. They meet the
// standard's TimedLockable, so std::scoped_lock, std::unique_lock and std::lock work with them.
//
// Owner: the lock object, not a thread. Any thread or coroutine may unlock what another one
// locked, and locking again while it is held waits (for recursive locking, see recursive_mutex).
// Several threads may use one object; they take turns among themselves, and each takes its place in
// the line at the server when its turn has come.
//
// Order: first come, first served, by the server's order of creation, among all contenders of all
// libraries that share the lock. A waiter keeps its place over a lost connection. With an expired
// session its place is gone, and it takes a new one at the end.
//
// Loss: a lock is held by a session, and sessions can expire. hold() tells: see hold.hpp.
// The lost lock must still be unlocked; that only lets others of this object go on.
//
// Errors: a lock function that throws holds nothing. try_lock and its kin return false for
// contention, and when their time is up; what else can go wrong they throw: errc::not_connected if
// no server could be reached for client_options::connect_wait (a timed call whose time is up before
// that returns false, and whoever stands in the line already keeps its place and waits),
// errc::no_auth, errc::layout_mismatch, errc::out_of_line
// if somebody deleted our node while we waited, errc::closed, errc::would_deadlock on the I/O
// thread.
//
// A lock keeps what it needs of its client alive, but works only until the client is closed or
// destroyed. That releases it, and since it was not its user who did so, tells it as a loss, with
// errc::closed.
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
  // False if the stop was requested before the lock was held; a request that comes later is
  // ignored.
  [[nodiscard]] bool lock(std::stop_token stop);
  // Does not wait for other holders, only for the server's answer. Where the lock was found taken
  // before, a look at the node of that holder is enough, and nothing is written.
  [[nodiscard]] bool try_lock();
  // One deadline for everything: connecting, waiting, reconnecting. Not before it false.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return lock_before(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    return lock_before(detail::deadline_at(t));
  }
  // Returns at once: the release is sent, and repeated until the server has confirmed it or the
  // session is over. (Whoever may create in the lock's path but not delete gets a lock that ends
  // with the session only.) Does nothing if nothing is held.
  void unlock() noexcept;

  // void(error_code). Cancelling gives up the place in the line.
  template <class Token>
  auto async_lock(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_lock, std::forward<Token>(token), role);
  }
  // void(error_code, bool). A duration of zero or less is try_lock().
  template <class Rep, class Period, class Token>
  auto async_try_lock_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<bool>(state_, &detail::start_try_lock, std::forward<Token>(token), role,
                                  detail::deadline_after(d));
  }
  // void(error_code, scoped_hold): as well, with a guard that releases the lock. That of
  // async_try_scoped_lock_for() owns nothing if the lock was not acquired in time.
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
  // void(error_code): when the server has confirmed it, or the session is over. Cannot be
  // cancelled.
  template <class Token>
  auto async_unlock(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_unlock, std::forward<Token>(token), role);
  }

  // What is held now, or last was; see hold.hpp.
  conclave::hold hold() const;
  std::int64_t fencing_token() const { return hold().fencing_token(); }
  bool held() const { return hold().held(); }
  std::stop_token lost() const { return hold().lost(); }

 protected:
  explicit exclusive_lock(detail::lock_pointer state);
  // Unlocks if it is held. Calls that wait in it end with operation_aborted. Waits for a callback
  // that runs, unless it runs here.
  ~exclusive_lock();

 private:
  static constexpr auto role = layout::role::exclusive;
  bool lock_before(detail::deadline d);
  detail::lock_pointer state_;
};

}  // namespace conclave
