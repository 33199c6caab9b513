#include "conclave/shared_mutex.hpp"

#include "client/locking.hpp"

namespace conclave {

shared_mutex::shared_mutex(client& c, std::string path, lock_options options)
    : state_{detail::make_lock(c, {std::move(path)}, writer, std::move(options))} {}
shared_mutex::~shared_mutex() { detail::end(state_); }

void shared_mutex::lock() { detail::lock(state_, writer); }
bool shared_mutex::lock(std::stop_token stop) {
  return detail::lock(state_, writer, std::move(stop));
}
bool shared_mutex::try_lock() { return lock_before(writer, detail::at_once); }
void shared_mutex::unlock() noexcept { detail::unlock(state_, writer); }

void shared_mutex::lock_shared() { detail::lock(state_, reader); }
bool shared_mutex::lock_shared(std::stop_token stop) {
  return detail::lock(state_, reader, std::move(stop));
}
bool shared_mutex::try_lock_shared() { return lock_before(reader, detail::at_once); }
void shared_mutex::unlock_shared() noexcept { detail::unlock(state_, reader); }

bool shared_mutex::lock_before(layout::role r, detail::deadline d) {
  return detail::try_lock(state_, r, d);
}

downgradable_hold shared_mutex::scoped_lock() {
  return {state_, detail::lock_to_hold(state_, writer, {}).value()};
}
scoped_hold shared_mutex::scoped_lock_shared() {
  return detail::scoped_lock(state_, reader, detail::no_deadline);
}

void shared_mutex::downgrade() { detail::downgrade(state_); }

hold shared_mutex::hold() const { return detail::hold_of(state_, writer); }
hold shared_mutex::shared_hold() const { return detail::hold_of(state_, reader); }

}  // namespace conclave
