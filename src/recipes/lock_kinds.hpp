// The requests of the different kinds of locks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "recipes/lock_request.hpp"

namespace conclave::recipes {

// Returns the request for a mutex, a reader or a writer, or for a multi_mutex if there are several
// paths. The paths must be in ascending order.
lock_request lock_of(std::vector<std::string> paths, const layout& names, layout::role r);

// Returns the request for a lock whose node has a fixed name: the last part of the path.
lock_request named_lock_of(const std::string& path);

// The two requests of a semaphore. A contender acquires the admission lock, which is an exclusive
// lock, and then the permit.
struct semaphore_requests {
  lock_request permit;
  lock_request admission;
};
semaphore_requests semaphore_of(const std::string& path, std::size_t permits);

lock_request candidacy_of(const std::string& path, const layout& names);

}  // namespace conclave::recipes
