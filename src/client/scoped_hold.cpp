#include "conclave/scoped_hold.hpp"

#include "client/locking.hpp"

namespace conclave {

void scoped_hold::unlock() noexcept {
  if (!lock_) return;
  client_impl::unlock(std::exchange(lock_, {}), std::exchange(hold_, {}));
}

const detail::lock_pointer& scoped_hold::lock() const {
  if (!hold_.held()) throw error{errc::lock_lost, "downgrade: the lock is not held"};
  return lock_;
}

void downgradable_hold::downgrade() { client_impl::downgrade(lock()); }

}  // namespace conclave
