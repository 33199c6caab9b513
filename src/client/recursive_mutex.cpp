#include "conclave/recursive_mutex.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "client/core.hpp"
#include "client/locking.hpp"
#include "recipes/reentry.hpp"

namespace conclave {

struct recursive_mutex::owner {
  owner(client& c, std::string p) : core{client_impl::core_access::of(c)}, path{std::move(p)} {}

  // In a forked child process, no function uses the guard: another thread of the parent may have
  // held it during the fork.
  const client_impl::core_pointer core;
  std::string path;  // for error messages
  mutable std::mutex guard;
  recipes::reentry reentry;
  conclave::hold hold;
};

recursive_mutex::recursive_mutex(client& c, std::string path, lock_options options)
    : mutex_{c, path, std::move(options)}, owner_{std::make_unique<owner>(c, std::move(path))} {}
recursive_mutex::~recursive_mutex() = default;

// If this thread holds the lock, locks it once more and returns true. Otherwise returns false.
bool recursive_mutex::again() {
  if (owner_->core->forked()) throw error{errc::forked, "lock " + owner_->path};
  const std::lock_guard lock{owner_->guard};
  const auto us = client_impl::this_thread();
  if (owner_->reentry.count(us) == 0) return false;
  if (owner_->reentry.again(us, owner_->hold.held()) == recipes::reentry::answer::lost) {
    if (owner_->hold.why_lost() == errc::closed) throw error{errc::closed, "lock " + owner_->path};
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
  if (owner_->core->forked()) return;
  {
    const std::lock_guard lock{owner_->guard};
    if (!owner_->reentry.unlock(client_impl::this_thread())) return;
  }
  mutex_.unlock();
}

bool recursive_mutex::held_by_this_thread() const { return hold_count() > 0; }

std::size_t recursive_mutex::hold_count() const {
  if (owner_->core->forked()) return 0;
  const std::lock_guard lock{owner_->guard};
  return owner_->reentry.count(client_impl::this_thread());
}

hold recursive_mutex::hold() const {
  if (owner_->core->forked()) return {};
  const std::lock_guard lock{owner_->guard};
  return owner_->hold;
}

}  // namespace conclave
