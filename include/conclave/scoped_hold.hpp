// Owns one acquisition of a lock or one permit of a semaphore, and releases it when it is
// destroyed.
//
//   auto guard = co_await mutex.async_scoped_lock(boost::asio::use_awaitable);
//   ...
//   auto permit = slots.scoped_acquire();
//
// The functions that acquire the lock return the scoped_hold, so it also works in coroutines. In
// contrast, std::scoped_lock acquires the lock in its constructor and blocks the thread there. If
// the result of an asynchronous acquisition is never used, for example because its coroutine has
// ended, the lock is released when the result is destroyed. Cancel pending operations before you
// destroy the io_context that completes them.
//
// A scoped_hold releases only its own acquisition, not others of the same lock object. It may
// outlive the lock object, whose destructor releases every acquisition. Only one thread at a time
// may use it, and any thread may destroy it.
#pragma once

#include <cstdint>
#include <stop_token>
#include <utility>

#include "conclave/detail/locking.hpp"
#include "conclave/hold.hpp"

namespace conclave {

class [[nodiscard]] scoped_hold {
 public:
  scoped_hold() = default;  // empty
  scoped_hold(detail::lock_pointer lock, conclave::hold h) noexcept
      : lock_{std::move(lock)}, hold_{std::move(h)} {}
  scoped_hold(scoped_hold&& other) noexcept
      : lock_{std::exchange(other.lock_, {})}, hold_{std::exchange(other.hold_, {})} {}
  scoped_hold& operator=(scoped_hold&& other) noexcept {
    if (this == &other) return *this;
    unlock();
    lock_ = std::exchange(other.lock_, {});
    hold_ = std::exchange(other.hold_, {});
    return *this;
  }
  ~scoped_hold() { unlock(); }

  // Releases the lock now. No effect on an empty scoped_hold.
  void unlock() noexcept;

  // Returns true if there is an acquisition to release. This is true even if the hold was lost, see
  // held().
  bool owns() const noexcept { return lock_ != nullptr; }
  explicit operator bool() const noexcept { return owns(); }

  // The hold, see hold.hpp. Empty after unlock().
  const conclave::hold& hold() const noexcept { return hold_; }
  bool held() const noexcept { return hold_.held(); }
  std::int64_t fencing_token() const noexcept { return hold_.fencing_token(); }
  std::stop_token lost() const noexcept { return hold_.lost(); }

 protected:
  const detail::lock_pointer& lock() const;

 private:
  detail::lock_pointer lock_;
  conclave::hold hold_;
};

// An exclusive hold of a shared_mutex that can be downgraded to a shared hold.
class [[nodiscard]] downgradable_hold : public scoped_hold {
 public:
  using scoped_hold::scoped_hold;

  // Turns the exclusive hold into a shared one, as shared_mutex::downgrade() does. No writer can
  // acquire the lock in between. The hold and its fencing token stay the same, and this object
  // still releases the hold. Throws errc::lock_lost if the lock is not held.
  void downgrade();
  // Completes with void(error_code).
  template <class Token>
  auto async_downgrade(Token&& token) {
    return detail::initiate<void>(lock(), &detail::start_downgrade, std::forward<Token>(token));
  }
};

}  // namespace conclave
