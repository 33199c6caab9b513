// A readers-writer lock: either many readers hold it (shared), or one writer holds it (exclusive).
//
//   conclave::shared_mutex m{zk, "/locks/catalogue"};
//   { std::shared_lock reading{m}; ... }
//   { std::unique_lock writing{m}; ... }
//
// Order: readers and writers share one wait queue, in the order in which their nodes were created.
// A reader waits for the last writer ahead of it. A writer waits for its predecessor. Adjacent
// readers hold the lock together, and no contender starves. A mutex on the same path is in the same
// wait queue and excludes readers and writers (layout.hpp).
//
// Ownership: the object owns the holds, not a thread. Every shared hold has its own node, and any
// thread may release one. unlock_shared() prefers a hold that the calling thread acquired by a
// blocking call, then a hold of an async_ call, then any other hold. Within each group it prefers a
// lost hold, so that valid holds stay held, and then the oldest. async_unlock_shared() prefers
// holds of async_ calls. By default, writers that use the same object acquire the lock in the order
// of their calls. Only one of these writers has a node on the server at any time.
//
// Downgrade: a writer can become a reader, and no other writer can acquire the lock in between.
//
//   auto guard = m.scoped_lock();
//   ...
//   guard.downgrade();  // the same guard releases the shared hold
//
// There is no upgrade, because a reader that waits for the exclusive lock would wait for itself. If
// a thread has acquired a shared hold with a blocking call, such as scoped_lock_shared(), its
// blocking calls for the exclusive lock of the same object throw errc::upgrade_refused. This
// applies until any thread has released the shared hold. async_ calls do not check this.
//
// Do not acquire two shared holds on one thread. If a writer queues between the two, the second
// acquisition waits for the writer, and the writer waits for the first shared hold. The library
// does not detect this deadlock.
//
// The same lock can be used by Curator's InterProcessReadWriteLock and by kazoo's ReadLock and
// WriteLock, if lock_options::layout matches. See exclusive_lock.hpp for errors, loss and timeouts.
//
// Cost: a reader lists the wait queue when it arrives. A writer lists it only if a contender may be
// ahead, or always if lock_options::tickets is false.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

#include "conclave/client.hpp"
#include "conclave/detail/locking.hpp"
#include "conclave/hold.hpp"
#include "conclave/lock_options.hpp"
#include "conclave/scoped_hold.hpp"

namespace conclave {

class shared_mutex {
 public:
  // Throws errc::invalid_path, or errc::invalid_argument if the layout has no shared locks.
  shared_mutex(client& c, std::string path, lock_options options = {});
  // Releases all its holds. Calls that wait for the lock complete with operation_aborted.
  ~shared_mutex();
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  // --- exclusive (writer)

  void lock();
  [[nodiscard]] bool lock(std::stop_token stop);
  [[nodiscard]] bool try_lock();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return lock_before(writer, detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    return lock_before(writer, detail::deadline_at(t));
  }
  void unlock() noexcept;  // no effect without an exclusive hold

  // --- shared (reader)

  void lock_shared();
  [[nodiscard]] bool lock_shared(std::stop_token stop);
  [[nodiscard]] bool try_lock_shared();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& d) {
    return lock_before(reader, detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& t) {
    return lock_before(reader, detail::deadline_at(t));
  }
  void unlock_shared() noexcept;  // no effect without a shared hold

  // --- acquisitions that are released on destruction (scoped_hold.hpp)

  downgradable_hold scoped_lock();
  scoped_hold scoped_lock_shared();
  // Completes with void(error_code, downgradable_hold).
  template <class Token>
  auto async_scoped_lock(Token&& token) {
    return detail::initiate<downgradable_hold>(state_, &detail::start_downgradable_lock,
                                               std::forward<Token>(token));
  }
  // Completes with void(error_code, scoped_hold).
  template <class Token>
  auto async_scoped_lock_shared(Token&& token) {
    return detail::initiate<scoped_hold>(state_, &detail::start_scoped_lock,
                                         std::forward<Token>(token), reader, detail::no_deadline);
  }

  // --- from exclusive to shared

  // Turns the exclusive hold into a shared one. The hold and its fencing token stay the same.
  // Release it with unlock_shared(). For unlock_shared() and shared_hold(), the hold belongs to the
  // thread or async_ call that acquired the exclusive lock.
  //
  // Blocks until the server confirms the change. If the connection is lost, waits for a reconnect
  // and resolves the outcome. Errors:
  // - errc::lock_lost: the lock is not held. If it was lost because the client was closed,
  //   errc::closed.
  // - Another error that compares equal to condition::lock_lost: the hold was lost during the call.
  // - errc::not_supported: the sequence number of the lock's node has overflowed, or is one of the
  //   last 65,536 before the overflow. Contenders are then ordered by creation time, so the new
  //   reader's node would be behind waiting writers.
  // After errc::not_supported or an error that is not listed here, the lock is still held
  // exclusively.
  void downgrade();

  // --- asynchronous functions, as in exclusive_lock.hpp

  template <class Token>
  auto async_lock(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_lock, std::forward<Token>(token), writer);
  }
  template <class Token>
  auto async_lock_shared(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_lock, std::forward<Token>(token), reader);
  }
  template <class Rep, class Period, class Token>
  auto async_try_lock_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<bool>(state_, &detail::start_try_lock, std::forward<Token>(token),
                                  writer, detail::deadline_after(d));
  }
  template <class Rep, class Period, class Token>
  auto async_try_lock_shared_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<bool>(state_, &detail::start_try_lock, std::forward<Token>(token),
                                  reader, detail::deadline_after(d));
  }
  template <class Token>
  auto async_unlock(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_unlock, std::forward<Token>(token),
                                  writer);
  }
  template <class Token>
  auto async_unlock_shared(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_unlock, std::forward<Token>(token),
                                  reader);
  }
  template <class Token>
  auto async_downgrade(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_downgrade, std::forward<Token>(token));
  }

  // hold() is the exclusive hold. shared_hold() is the shared hold that the calling thread acquired
  // last. If the thread has none, shared_hold() is the last shared hold acquired by any thread. If
  // there is no hold now, each function returns the last released one, or an empty hold if there
  // never was one. After a downgrade, hold() is empty until the next exclusive acquisition.
  conclave::hold hold() const;
  conclave::hold shared_hold() const;

 private:
  static constexpr auto reader = layout::role::reader;
  static constexpr auto writer = layout::role::writer;
  bool lock_before(layout::role r, detail::deadline d);
  detail::lock_pointer state_;
};

}  // namespace conclave
