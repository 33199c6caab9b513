// What the lock classes have in common: blocking, timed and asynchronous calls on a lock object.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "client/core.hpp"
#include "conclave/mutex.hpp"
#include "recipes/lock_object.hpp"

namespace conclave::detail {

struct lock_handle {
  core_pointer core;
  std::shared_ptr<recipes::lock_object> object;
  std::string path;
};

// Throws errc::invalid_path, errc::invalid_argument if the layout has no such role.
lock_pointer make_lock(client& c, std::vector<std::string> paths, layout::role role,
                       lock_options options);

void lock(const lock_pointer& l);
bool lock(const lock_pointer& l, std::stop_token stop);
bool try_lock(const lock_pointer& l, deadline d);
void unlock(const lock_pointer& l) noexcept;
// The lock object's end.
void abandon(const lock_pointer& l) noexcept;
hold hold_of(const lock_pointer& l);

}  // namespace conclave::detail
