// A mutual exclusion lock across processes and machines.
//
//   conclave::client zk{"zk1,zk2,zk3"};
//   conclave::mutex m{zk, "/locks/invoices"};
//   {
//     std::scoped_lock guard{m};
//     ...
//   }
//
// Owner: the mutex object, not a thread. Any thread or coroutine may unlock what another one
// locked, and locking again while it is held waits (for recursive locking, see recursive_mutex).
// Several threads may use one object; they take turns among themselves, and each takes its place in
// the line at the server when its turn has come.
//
// Order: first come, first served, by the server's order of creation, among all contenders of all
// libraries that share the lock. A waiter keeps its place over a lost connection. With an expired
// session its place is gone, and it takes a new one at the end.
//
// Cost: locking a free lock is one round trip, unlocking does not wait for anything. A hand-off is
// a constant number of small messages however many wait, and wakes one waiter.
//
// Loss: a lock is held by a session, and sessions can expire. mutex::hold() tells: see hold.hpp.
// The lost lock must still be unlocked; that only lets others of this object go on.
//
// Errors: a lock function that throws holds nothing. try_lock and its kin return false for
// contention only; what else can go wrong they throw: errc::not_connected if no server can be
// reached (client_options::connect_wait), errc::no_auth, errc::layout_mismatch, errc::out_of_line
// if somebody deleted our node while we waited, errc::closed, errc::would_deadlock on the I/O
// thread.
//
// A mutex keeps what it needs of its client alive, but works only until the client is closed or
// destroyed, which releases it.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "conclave/client.hpp"
#include "conclave/hold.hpp"
#include "conclave/lock_options.hpp"

namespace conclave {

namespace detail {

struct lock_handle;
using lock_pointer = std::shared_ptr<lock_handle>;
using deadline = std::chrono::steady_clock::time_point;
inline constexpr deadline no_deadline = deadline::max();
inline constexpr deadline at_once = deadline::min();

// A deadline of any clock as one of ours. What lies too far ahead to be added is never.
template <class Rep, class Period>
deadline deadline_after(const std::chrono::duration<Rep, Period>& d) {
  using std::chrono::steady_clock;
  const auto now = steady_clock::now();
  if (d <= d.zero()) return at_once;
  if (std::chrono::duration<double>(d) > std::chrono::hours{24 * 365 * 100}) return no_deadline;
  return now + std::chrono::ceil<steady_clock::duration>(d);
}

void start_lock(const lock_pointer&, receiver<void>);
void start_try_lock(const lock_pointer&, receiver<bool>, deadline);
void start_unlock(const lock_pointer&, receiver<void>);

}  // namespace detail

class mutex {
 public:
  // Sends nothing. The lock's nodes will be children of `path`, which is made with the first of
  // them and removed by the server some time after the last. Throws errc::invalid_path.
  mutex(client& c, std::string path, lock_options options = {});
  // Unlocks if it is held. Nobody may be waiting in it.
  ~mutex();
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock();
  // False if the stop was requested before the lock was held; a request that comes later is
  // ignored.
  bool lock(std::stop_token stop);
  // Does not wait for other holders, only for the server's answer.
  bool try_lock();
  // One deadline for everything: connecting, waiting, reconnecting. Not before it false.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return lock_before(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    return lock_before(detail::deadline_after(t - Clock::now()));
  }
  // Returns at once: the release is sent, and repeated until the server has confirmed it or the
  // session is over.
  void unlock() noexcept;

  // void(error_code). Cancelling gives up the place in the line.
  template <class Token>
  auto async_lock(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_lock, std::forward<Token>(token));
  }
  // void(error_code, bool). A duration of zero or less is try_lock().
  template <class Rep, class Period, class Token>
  auto async_try_lock_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<bool>(state_, &detail::start_try_lock, std::forward<Token>(token),
                                  detail::deadline_after(d));
  }
  // void(error_code): when the server has confirmed it, or the session is over. Cannot be
  // cancelled.
  template <class Token>
  auto async_unlock(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_unlock, std::forward<Token>(token));
  }

  // What is held now, or last was.
  conclave::hold hold() const;
  std::int64_t fencing_token() const { return hold().fencing_token(); }
  bool held() const { return hold().held(); }
  std::stop_token lost() const { return hold().lost(); }

  const std::string& path() const noexcept;

 private:
  bool lock_before(detail::deadline d);
  detail::lock_pointer state_;
};

}  // namespace conclave
