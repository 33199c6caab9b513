// What the lock classes have in common: blocking, timed and asynchronous calls on a lock object.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/callback_queue.hpp"
#include "client/core.hpp"
#include "conclave/detail/locking.hpp"
#include "conclave/hold.hpp"
#include "conclave/lock_options.hpp"
#include "conclave/scoped_hold.hpp"
#include "recipes/lock_object.hpp"

namespace conclave::detail {

using role = layout::role;

struct lock_handle {
  core_pointer core;
  std::shared_ptr<recipes::lock_object> object;
  std::string path;  // as the user gave it, for messages
  const char* verb = "lock";
  // Through which its callbacks are called.
  std::shared_ptr<callback_queue> told = std::make_shared<callback_queue>();
};

// Completes the request, whose path was checked.
lock_pointer make_lock(client& c, std::string path, recipes::lock_request t,
                       std::optional<recipes::lock_request> gate, lock_options options,
                       recipes::progress_callback f = {});
// For a lock of this role on these paths. Throws errc::invalid_path, and errc::invalid_argument if
// the layout has no such roles.
lock_pointer make_lock(client& c, std::vector<std::string> paths, role r, lock_options options);

void lock(const lock_pointer& l, role r);
bool lock(const lock_pointer& l, role r, std::stop_token stop);
// As well, with the hold that this call got, which hold_of() need not be; none if it did not.
std::optional<hold> lock_to_hold(const lock_pointer& l, role r, std::stop_token stop);
bool try_lock(const lock_pointer& l, role r, deadline d);
// As well, with what this call got; of nothing if it did not.
scoped_hold scoped_lock(const lock_pointer& l, role r, deadline d);
void unlock(const lock_pointer& l, role r) noexcept;
void unlock(const lock_pointer& l, const hold& h) noexcept;
void downgrade(const lock_pointer& l);
// Gives everything back, and tells those who wait.
void abandon(const lock_pointer& l) noexcept;
// The lock object's end: as well, and then no callback runs any more, but one that ends it itself.
void end(const lock_pointer& l) noexcept;
hold hold_of(const lock_pointer& l, role r);
std::uint64_t this_thread() noexcept;
// Ends the scope. A handler must not be called before the call that started it has returned, so
// whatever is to be told is told on the I/O thread.
void tell_later(runtime::io_loop& loop, recipes::session_context::scope& inside);
std::string host_name();

}  // namespace conclave::detail
