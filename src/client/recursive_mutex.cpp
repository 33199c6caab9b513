#include "conclave/recursive_mutex.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "client/locking.hpp"
#include "recipes/reentry.hpp"

namespace conclave {

struct recursive_mutex::owner {
  explicit owner(std::string p) : path{std::move(p)} {}

  std::string path;  // for error messages
  mutable std::mutex guard;
  recipes::reentry reentry;
  conclave::hold hold;
};

recursive_mutex::recursive_mutex(client& c, std::string path, lock_options options)
    : mutex_{c, path, std::move(options)}, owner_{std::make_unique<owner>(std::move(path))} {}
recursive_mutex::~recursive_mutex() = default;

// If this thread holds the lock, locks it once more and returns true. Otherwise returns false.
bool recursive_mutex::again() {
  const std::lock_guard lock{owner_->guard};
  const auto us = client_impl::this_thread();
  if (owner_->reentry.count(us) == 0) return false;
  // A forked child process does not own its parent's hold.
  if (mutex_.hold().fencing_token() == 0) throw error{errc::forked, "lock"};
  if (owner_->reentry.again(us, owner_->hold.held()) == recipes::reentry::answer::lost) {
    if (owner_->hold.why_lost() == errc::closed) throw error{errc::closed, "lock"};
    throw error{errc::lock_lost, "lock " + owner_->path + ": the lock is lost; unlock it first"};
  }
  return true;
}

bool recursive_mutex::first(bool locked) {
  if (!locked) return false;
  const std::lock_guard lock{owner_->guard};
  owner_->reentry.first(client_impl::this_thread());
  owner_->hold = mutex_.hold();
  return true;
}

void recursive_mutex::lock() {
  if (again()) return;
  mutex_.lock();
  first(true);
}
bool recursive_mutex::lock(std::stop_token stop) {
  return again() || first(mutex_.lock(std::move(stop)));
}
bool recursive_mutex::try_lock() { return again() || first(mutex_.try_lock()); }
bool recursive_mutex::lock_before(detail::deadline d) {
  if (again()) return true;
  if (d == detail::at_once) return first(mutex_.try_lock());
  if (d == detail::no_deadline) {
    mutex_.lock();
    return first(true);
  }
  return first(mutex_.try_lock_until(d));
}

void recursive_mutex::unlock() noexcept {
  {
    const std::lock_guard lock{owner_->guard};
    if (!owner_->reentry.unlock(client_impl::this_thread())) return;
  }
  mutex_.unlock();
}

bool recursive_mutex::held_by_this_thread() const { return hold_count() > 0; }

std::size_t recursive_mutex::hold_count() const {
  const std::lock_guard lock{owner_->guard};
  return owner_->reentry.count(client_impl::this_thread());
}

hold recursive_mutex::hold() const {
  const std::lock_guard lock{owner_->guard};
  return owner_->hold;
}

}  // namespace conclave
