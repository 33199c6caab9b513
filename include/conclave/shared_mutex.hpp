// Readers and writers: many may hold it shared, or one alone.
//
//   conclave::shared_mutex m{zk, "/locks/catalogue"};
//   { std::shared_lock reading{m}; ... }
//   { std::unique_lock writing{m}; ... }
//
// Order: by creation, readers and writers in one line. A reader waits for the last writer before
// it, a writer for the last one of all before it; so nobody starves, and readers that follow one
// another hold it together.
//
// Owner: the object, not a thread. Every shared hold has a node of its own, and any thread may give
// one back. unlock_shared() prefers one that this thread took by a blocking call, then one that was
// taken by an async_ call, which has no thread, then any; and of these one that was lost, otherwise
// the oldest. async_unlock_shared() prefers those of async_ calls. Writers of one object take turns
// among themselves.
//
// Downgrade: a holder that has written goes on as a reader, and no writer can come between.
//
//   auto guard = m.scoped_lock();
//   ...
//   guard.downgrade();  // released by the same guard
//
// There is no way up: a reader that waited to become a writer would wait for itself, as would two
// of them for each other. A thread that holds it shared through a blocking call on this object and
// asks for it exclusively, even by try_lock(), is refused with errc::upgrade_refused. A thread that
// holds it shared and asks for it shared once more is not: if a writer has come in between, it
// waits for that writer, which waits for it.
//
// Shared with Curator's InterProcessReadWriteLock and with kazoo's ReadLock and WriteLock, by
// lock_options::layout. Errors, loss and time limits: as exclusive_lock.hpp says. Each hand-off
// reads the line, as the other libraries do; lock_options::tickets means nothing here.
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
  // Throws errc::invalid_path, errc::invalid_argument if the layout is for exclusive locks only.
  shared_mutex(client& c, std::string path, lock_options options = {});
  // Unlocks everything it holds. Calls that wait in it end with operation_aborted.
  ~shared_mutex();
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  // --- alone

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
  void unlock() noexcept;

  // --- with other readers

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
  void unlock_shared() noexcept;

  // --- with a guard: what they give releases what was acquired (scoped_hold.hpp)

  downgradable_hold scoped_lock();
  scoped_hold scoped_lock_shared();
  // void(error_code, downgradable_hold).
  template <class Token>
  auto async_scoped_lock(Token&& token) {
    return detail::initiate<downgradable_hold>(state_, &detail::start_downgradable_lock,
                                               std::forward<Token>(token));
  }
  // void(error_code, scoped_hold).
  template <class Token>
  auto async_scoped_lock_shared(Token&& token) {
    return detail::initiate<scoped_hold>(state_, &detail::start_scoped_lock,
                                         std::forward<Token>(token), reader, detail::no_deadline);
  }

  // --- from alone to shared

  // Afterwards unlock_shared() ends it. The hold stays the same, with its token. Throws
  // errc::lock_lost if it is not held (any more), and errc::not_supported for the last 65,536
  // numbers of the path's counter, where it is held as before.
  void downgrade();

  // --- asynchronously, as in exclusive_lock.hpp

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

  // The exclusive hold, and the shared one that was acquired last, by this thread if it has one.
  conclave::hold hold() const;
  conclave::hold shared_hold() const;

 private:
  static constexpr auto reader = layout::role::reader;
  static constexpr auto writer = layout::role::writer;
  bool lock_before(layout::role r, detail::deadline d);
  detail::lock_pointer state_;
};

}  // namespace conclave
