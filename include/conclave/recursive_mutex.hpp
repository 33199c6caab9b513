// A mutex that its owning thread may lock again.
//
// A thread owns the lock. The owning thread must call unlock() once for each lock(), and no other
// thread can unlock it. Locking again sends nothing to the server. In all other respects, a
// recursive_mutex behaves like a mutex (mutex.hpp), and it excludes mutexes on the same path.
//
// If the hold is lost, the owning thread must still call unlock() once for each lock(). Until then,
// every further lock call of that thread throws errc::lock_lost, or errc::closed if the client was
// closed.
//
// There are no async_ functions, because completion handlers do not belong to a thread.
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
  // No effect if the calling thread does not own the lock.
  void unlock() noexcept;

  // Returns true if the calling thread owns the lock, even if the hold was lost.
  bool held_by_this_thread() const;
  // Returns how many times the calling thread must still call unlock(), or 0 if it does not own the
  // lock.
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
