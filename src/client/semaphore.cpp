#include "conclave/semaphore.hpp"

#include "client/locking.hpp"
#include "recipes/lock_kinds.hpp"
#include "recipes/recipe_path.hpp"

namespace conclave {
namespace {

detail::lock_pointer make(client& c, const std::string& path, std::size_t permits,
                          lock_options options) {
  recipes::require_recipe_path("semaphore", path);
  if (permits == 0)
    throw error{errc::invalid_argument,
                "semaphore " + path + ": the number of permits must be above 0"};
  auto [permit, admission] = recipes::semaphore_of(path, permits);
  return client_impl::make_lock(c, path, std::move(permit), std::move(admission),
                                std::move(options));
}

}  // namespace

semaphore::semaphore(client& c, std::string path, std::size_t permits, lock_options options)
    : state_{make(c, path, permits, std::move(options))} {}
semaphore::~semaphore() { client_impl::end(state_); }

void semaphore::acquire() { client_impl::lock(state_, role); }
bool semaphore::acquire(std::stop_token stop) {
  return client_impl::lock(state_, role, std::move(stop));
}
bool semaphore::try_acquire() { return acquire_before(detail::at_once); }
bool semaphore::acquire_before(detail::deadline d) {
  return client_impl::try_lock(state_, role, d);
}
scoped_hold semaphore::scoped_acquire() { return scoped_acquire_before(detail::no_deadline); }
scoped_hold semaphore::try_scoped_acquire() { return scoped_acquire_before(detail::at_once); }
scoped_hold semaphore::scoped_acquire_before(detail::deadline d) {
  return client_impl::scoped_lock(state_, role, d);
}
void semaphore::release() noexcept { client_impl::unlock(state_, role); }
hold semaphore::hold() const { return client_impl::hold_of(state_, role); }

}  // namespace conclave
