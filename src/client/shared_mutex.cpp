#include "conclave/shared_mutex.hpp"

#include "client/locking.hpp"

namespace conclave {

shared_mutex::shared_mutex(client& c, std::string path, lock_options options)
    : state_{client_impl::make_lock(c, {std::move(path)}, writer, std::move(options))} {}
shared_mutex::~shared_mutex() { client_impl::end(state_); }

void shared_mutex::lock() { client_impl::lock(state_, writer); }
bool shared_mutex::lock(std::stop_token stop) {
  return client_impl::lock(state_, writer, std::move(stop));
}
bool shared_mutex::try_lock() { return lock_before(writer, detail::at_once); }
void shared_mutex::unlock() noexcept { client_impl::unlock(state_, writer); }

void shared_mutex::lock_shared() { client_impl::lock(state_, reader); }
bool shared_mutex::lock_shared(std::stop_token stop) {
  return client_impl::lock(state_, reader, std::move(stop));
}
bool shared_mutex::try_lock_shared() { return lock_before(reader, detail::at_once); }
void shared_mutex::unlock_shared() noexcept { client_impl::unlock(state_, reader); }

bool shared_mutex::lock_before(layout::role r, detail::deadline d) {
  return client_impl::try_lock(state_, r, d);
}

downgradable_hold shared_mutex::scoped_lock() {
  client_impl::note_movable_hold(state_);
  return {state_, client_impl::lock_to_hold(state_, writer, {}).value()};
}
scoped_hold shared_mutex::scoped_lock_shared() {
  return client_impl::scoped_lock(state_, reader, detail::no_deadline);
}

void shared_mutex::downgrade() { client_impl::downgrade(state_); }

hold shared_mutex::hold() const { return client_impl::hold_of(state_, writer); }
hold shared_mutex::shared_hold() const { return client_impl::hold_of(state_, reader); }

}  // namespace conclave
