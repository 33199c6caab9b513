// A number of permits across processes and machines: at most so many hold one at a time.
//
//   conclave::semaphore slots{zk, "/render/slots", 4};
//   const auto permit = slots.scoped_acquire();  // until the end of the block; or:
//   slots.acquire();
//   ...
//   slots.release();
//
// Shared with Curator's InterProcessSemaphoreV2. Whoever wants a permit first takes its place in a
// line (a mutex at PATH/locks), and the first of that line takes a permit (a node at PATH/leases)
// as soon as there is one. So permits are given in the order of coming, and a released permit wakes
// one waiter.
//
// All must say the same number of permits. It is recorded at PATH while somebody holds one; whoever
// says another number then gets errc::permits_mismatch when its turn comes, and so do a semaphore
// where a lock is in use and a lock where permits are held.
//
// Owner: the object, and any thread may give a permit back. release() prefers one that this thread
// took by a blocking call, then one of an async_ call, then any; and of these one that was lost,
// otherwise the oldest.
//
// contenders(zk, PATH + "/leases", layout::custom("lease-")) tells who has one.
//
// Errors and loss: as exclusive_lock.hpp says. The fencing token of a permit tells younger from
// older holders, but several are right at the same time.
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
  // lock_options::layout means nothing here. Throws errc::invalid_path, errc::invalid_argument for
  // no permits.
  semaphore(client& c, std::string path, std::size_t permits, lock_options options = {});
  // Releases every permit it holds. Calls that wait in it end with operation_aborted.
  ~semaphore();
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;

  void acquire();
  // False if the stop was requested before there was a permit.
  [[nodiscard]] bool acquire(std::stop_token stop);
  // False as well if somebody else is just about to take a permit.
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

  // Permits that release themselves (scoped_hold.hpp). Those of try_ functions own nothing if there
  // was no permit in time.
  scoped_hold scoped_acquire();
  scoped_hold try_scoped_acquire();
  template <class Rep, class Period>
  scoped_hold try_scoped_acquire_for(const std::chrono::duration<Rep, Period>& d) {
    return scoped_acquire_before(detail::deadline_after(d));
  }
  // void(error_code, scoped_hold).
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

  // The permit that was acquired last, by this thread if it has one.
  conclave::hold hold() const;

 private:
  static constexpr auto role = layout::role::exclusive;
  bool acquire_before(detail::deadline d);
  scoped_hold scoped_acquire_before(detail::deadline d);
  detail::lock_pointer state_;
};

}  // namespace conclave
