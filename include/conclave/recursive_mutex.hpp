// A mutex that the thread which holds it may lock again.
//
// Owner: a thread. It must unlock as often as it has locked, and only it may. For everything else
// see mutex.hpp, on which it stands: its contenders are those of mutex, one for a thread that holds
// or waits, however often it locks.
//
// A count belongs to one hold. When that is lost, the sections that rely on it are broken: until
// the thread has unlocked them all, locking once more throws errc::lock_lost instead of saying yes.
//
// There are no async_ forms: handlers have no thread of their own.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include "conclave/mutex.hpp"

namespace conclave {

class recursive_mutex {
 public:
  recursive_mutex(client& c, std::string path, lock_options options = {});
  ~recursive_mutex();

  void lock();
  [[nodiscard]] bool lock(std::stop_token stop);
  [[nodiscard]] bool try_lock();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return lock_before(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    return lock_before(detail::deadline_at(t));
  }
  // Of another thread than the owner, or once too often: does nothing.
  void unlock() noexcept;

  // Also true of a hold that was lost and not unlocked yet.
  bool held_by_this_thread() const;
  // How often this thread has locked it and not unlocked; 0 for every other thread.
  std::size_t hold_count() const;

  conclave::hold hold() const;
  std::int64_t fencing_token() const { return hold().fencing_token(); }
  bool held() const { return hold().held(); }
  std::stop_token lost() const { return hold().lost(); }

 private:
  bool lock_before(detail::deadline d);
  bool again();
  bool first(bool locked);

  struct owner;
  mutex mutex_;
  std::unique_ptr<owner> owner_;
};

}  // namespace conclave
