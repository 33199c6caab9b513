// A counting semaphore shared by processes and machines: at most `permits` holders at a time.
//
//   conclave::semaphore slots{zk, "/render/slots", 4};
//   const auto permit = slots.scoped_acquire();  // released at the end of the block; or:
//   slots.acquire();
//   ...
//   slots.release();
//
// It is compatible with Curator's InterProcessSemaphoreV2. A contender acquires a mutex at
// PATH/locks and then creates a node under PATH/leases. It holds a permit when no more than
// `permits` such nodes exist. Permits are therefore granted in order of arrival, and each release
// wakes one waiter.
//
// All programs must use the same number of permits. Holders record this number in the data of PATH.
// While somebody holds a permit, acquiring with a different number fails with
// errc::permits_mismatch. A semaphore and a lock cannot use the same path at the same time. If they
// do, calls also fail with errc::permits_mismatch.
//
// Ownership: the object owns its permits, and any thread may release one. release() prefers a
// permit that the calling thread acquired by a blocking call, then a permit of an async_ call, then
// any other permit. Within each group, lost permits come first, and older permits come before newer
// ones.
//
// permits_in_use(zk, PATH) lists the permits (contenders.hpp).
//
// See "Errors" and "Loss" in exclusive_lock.hpp for errors and lost permits. A newer permit has a
// larger fencing token, but a smaller token can be valid too, because several holders exist at a
// time.
#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <utility>

#include "conclave/client.hpp"
#include "conclave/detail/locking.hpp"
#include "conclave/hold.hpp"
#include "conclave/lock_options.hpp"
#include "conclave/scoped_hold.hpp"

namespace conclave {

class semaphore {
 public:
  // lock_options::layout is ignored. Throws errc::invalid_path, or errc::invalid_argument if
  // `permits` is zero.
  semaphore(client& c, std::string path, std::size_t permits, lock_options options = {});
  // Releases all its permits. Calls that wait for a permit complete with operation_aborted.
  ~semaphore();
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;

  void acquire();
  // Returns false if a stop was requested before a permit was granted.
  [[nodiscard]] bool acquire(std::stop_token stop);
  // Waits only for the server's reply. Also returns false if another contender is acquiring a
  // permit at that moment.
  [[nodiscard]] bool try_acquire();
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period>& d) {
    return acquire_before(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& t) {
    return acquire_before(detail::deadline_at(t));
  }
  void release() noexcept;

  // Return a permit that is released on destruction (scoped_hold.hpp). The try_ functions return an
  // empty scoped_hold if no permit is free in time.
  scoped_hold scoped_acquire();
  scoped_hold try_scoped_acquire();
  template <class Rep, class Period>
  scoped_hold try_scoped_acquire_for(const std::chrono::duration<Rep, Period>& d) {
    return scoped_acquire_before(detail::deadline_after(d));
  }
  // Completes with void(error_code, scoped_hold).
  template <class Token>
  auto async_scoped_acquire(Token&& token) {
    return detail::initiate<scoped_hold>(state_, &detail::start_scoped_lock,
                                         std::forward<Token>(token), role, detail::no_deadline);
  }
  template <class Rep, class Period, class Token>
  auto async_try_scoped_acquire_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<scoped_hold>(state_, &detail::start_scoped_lock,
                                         std::forward<Token>(token), role,
                                         detail::deadline_after(d));
  }

  template <class Token>
  auto async_acquire(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_lock, std::forward<Token>(token), role);
  }
  template <class Rep, class Period, class Token>
  auto async_try_acquire_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<bool>(state_, &detail::start_try_lock, std::forward<Token>(token), role,
                                  detail::deadline_after(d));
  }
  template <class Token>
  auto async_release(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_unlock, std::forward<Token>(token), role);
  }

  // Returns the permit that the calling thread acquired last. If the thread has none, returns the
  // last permit acquired by any thread.
  conclave::hold hold() const;

 private:
  static constexpr auto role = layout::role::exclusive;
  bool acquire_before(detail::deadline d);
  scoped_hold scoped_acquire_before(detail::deadline d);
  detail::lock_pointer state_;
};

}  // namespace conclave
