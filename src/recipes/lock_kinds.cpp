#include "recipes/lock_kinds.hpp"

#include <utility>

#include "recipes/semaphore_names.hpp"

namespace conclave::recipes {

lock_request lock_of(std::vector<std::string> paths, const layout& names, layout::role r) {
  lock_request lock;
  lock.parents = std::move(paths);
  lock.layout = names;
  lock.role = r;
  return lock;
}

lock_request named_lock_of(const std::string& path) {
  const auto slash = path.rfind('/');
  lock_request lock;
  lock.granted_when = lock_request::rule::fixed_name;
  lock.parents = {slash == 0 ? "/" : path.substr(0, slash)};
  lock.name = path.substr(slash + 1);
  lock.own_levels = 0;  // the lock's own path is the node itself, not a parent
  lock.watches_own_node = true;
  return lock;
}

semaphore_requests semaphore_of(const std::string& path, std::size_t permits) {
  semaphore_requests both;
  auto& [permit, admission] = both;
  admission.parents = {path + '/' + std::string{locks_folder}};
  admission.own_levels = 2;
  permit.granted_when = lock_request::rule::permits;
  permit.permits = permits;
  permit.semaphore_path = path;
  permit.parents = {path + '/' + std::string{leases_folder}};
  permit.own_levels = 2;
  permit.layout = lease_layout();
  permit.if_session_ends = lock_request::on_session_end::fail;
  return both;
}

lock_request candidacy_of(const std::string& path, const layout& names) {
  auto candidacy = lock_of({path}, names, layout::role::exclusive);
  candidacy.data = lock_request::data_format::owner_only;
  // A candidate knows from the listing whether its blocker is the leader. If it is, the leader's
  // failure elects the candidate without another request.
  candidacy.mode = lock_request::wait_mode::listing_once;
  return candidacy;
}

}  // namespace conclave::recipes
