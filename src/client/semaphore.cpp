#include "conclave/semaphore.hpp"

#include "client/locking.hpp"
#include "recipes/recipe_path.hpp"
#include "recipes/semaphore_names.hpp"

namespace conclave {
namespace {

detail::lock_pointer make(client& c, const std::string& path, std::size_t permits,
                          lock_options options) {
  recipes::require_recipe_path("semaphore", path);
  if (permits == 0) throw error{errc::invalid_argument, "semaphore " + path + " without permits"};
  recipes::lock_request gate;
  gate.parents = {path + '/' + std::string{recipes::locks_folder}};
  gate.own_levels = 2;
  recipes::lock_request lease;
  lease.granted_when = recipes::lock_request::rule::permits;
  lease.permits = permits;
  lease.semaphore_path = path;
  lease.parents = {path + '/' + std::string{recipes::leases_folder}};
  lease.own_levels = 2;
  lease.layout = recipes::lease_layout();
  lease.if_session_ends = recipes::lock_request::on_session_end::fail;
  return client_impl::make_lock(c, path, std::move(lease), std::move(gate), std::move(options));
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
