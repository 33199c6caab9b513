#include "conclave/mutex.hpp"

#include "client/locking.hpp"

namespace conclave {

mutex::mutex(client& c, std::string path, lock_options options)
    : state_{detail::make_lock(c, {std::move(path)}, layout::role::exclusive, std::move(options))} {
}

mutex::~mutex() { detail::abandon(state_); }

void mutex::lock() { detail::lock(state_); }
bool mutex::lock(std::stop_token stop) { return detail::lock(state_, std::move(stop)); }
bool mutex::try_lock() { return detail::try_lock(state_, detail::at_once); }
bool mutex::lock_before(detail::deadline d) { return detail::try_lock(state_, d); }
void mutex::unlock() noexcept { detail::unlock(state_); }

hold mutex::hold() const { return detail::hold_of(state_); }
const std::string& mutex::path() const noexcept { return state_->path; }

}  // namespace conclave
