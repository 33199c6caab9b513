#include "conclave/scoped_hold.hpp"

#include "client/locking.hpp"

namespace conclave {

void scoped_hold::unlock() noexcept {
  if (!lock_) return;
  detail::unlock(std::exchange(lock_, {}), std::exchange(hold_, {}));
}

const detail::lock_pointer& scoped_hold::lock() const {
  if (!hold_.held()) throw error{errc::lock_lost, "downgrade: nothing is held"};
  return lock_;
}

void downgradable_hold::downgrade() { detail::downgrade(lock()); }

}  // namespace conclave
