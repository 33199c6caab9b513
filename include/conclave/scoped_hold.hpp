// A lock that is held until this object is destroyed, for coroutines and for permits.
//
//   auto guard = co_await mutex.async_scoped_lock(boost::asio::use_awaitable);
//   ...
//   auto permit = slots.scoped_acquire();
//
// std::scoped_lock and std::unique_lock lock in their constructor, on a thread that waits. This one
// is what an acquisition gives. If nobody takes the result (the operation was cancelled, or its
// coroutine ended first) the lock is released with it. As with every asynchronous operation, the
// execution context that completes it must outlive it: cancel what is pending before you destroy
// an io_context.
//
// It releases the one hold that it stands for, and no other of the same object. It may outlive the
// lock object, whose destructor releases everything. It may be used by one thread at a time, and be
// destroyed by any.
#pragma once

#include <cstdint>
#include <stop_token>
#include <utility>

#include "conclave/detail/locking.hpp"
#include "conclave/hold.hpp"

namespace conclave {

class [[nodiscard]] scoped_hold {
 public:
  scoped_hold() = default;  // of nothing
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

  // Releases it now. Does nothing if there is nothing to release.
  void unlock() noexcept;

  // It was acquired and is still to be released. True as well of a hold that was lost: ask held().
  bool owns() const noexcept { return lock_ != nullptr; }
  explicit operator bool() const noexcept { return owns(); }

  // See hold.hpp. Of nothing, once it is released.
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

// The exclusive hold of a shared_mutex, which can go on as a shared one.
class [[nodiscard]] downgradable_hold : public scoped_hold {
 public:
  using scoped_hold::scoped_hold;

  // As shared_mutex::downgrade(): no writer can come between. What is held, and this object
  // releases, is the same hold, with its token. Throws errc::lock_lost if it is not held.
  void downgrade();
  // void(error_code).
  template <class Token>
  auto async_downgrade(Token&& token) {
    return detail::initiate<void>(lock(), &detail::start_downgrade, std::forward<Token>(token));
  }
};

}  // namespace conclave
