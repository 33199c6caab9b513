#include "conclave/exclusive_lock.hpp"

#include <algorithm>

#include "client/locking.hpp"
#include "conclave/multi_mutex.hpp"
#include "conclave/mutex.hpp"
#include "conclave/named_mutex.hpp"
#include "recipes/lock_kinds.hpp"
#include "recipes/recipe_path.hpp"

namespace conclave {
namespace {

detail::lock_pointer make_multi(client& c, std::vector<std::string> paths, lock_options options) {
  if (paths.empty()) throw error{errc::invalid_argument, "multi_mutex: needs at least one path"};
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return client_impl::make_lock(c, std::move(paths), layout::role::exclusive, std::move(options));
}

detail::lock_pointer make_named(client& c, const std::string& path, lock_options options) {
  recipes::require_recipe_path("lock", path);
  options.on_enqueued = {};
  return client_impl::make_lock(c, path, recipes::named_lock_of(path), std::nullopt,
                                std::move(options));
}

}  // namespace

exclusive_lock::exclusive_lock(detail::lock_pointer state) : state_{std::move(state)} {}
exclusive_lock::~exclusive_lock() { client_impl::end(state_); }

void exclusive_lock::lock() { client_impl::lock(state_, role); }
bool exclusive_lock::lock(std::stop_token stop) {
  return client_impl::lock(state_, role, std::move(stop));
}
bool exclusive_lock::try_lock() { return client_impl::try_lock(state_, role, detail::at_once); }
bool exclusive_lock::lock_before(detail::deadline d) {
  return client_impl::try_lock(state_, role, d);
}
void exclusive_lock::unlock() noexcept { client_impl::unlock(state_, role); }
hold exclusive_lock::hold() const { return client_impl::hold_of(state_, role); }

mutex::mutex(client& c, std::string path, lock_options options)
    : exclusive_lock{client_impl::make_lock(c, {std::move(path)}, layout::role::exclusive,
                                            std::move(options))} {}

multi_mutex::multi_mutex(client& c, std::vector<std::string> paths, lock_options options)
    : exclusive_lock{make_multi(c, std::move(paths), std::move(options))} {}

named_mutex::named_mutex(client& c, std::string path, lock_options options)
    : exclusive_lock{make_named(c, path, std::move(options))} {}

}  // namespace conclave
