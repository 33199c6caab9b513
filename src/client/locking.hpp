// The part that all lock classes share: blocking, timed and asynchronous calls on a lock object.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/core.hpp"
#include "conclave/detail/locking.hpp"
#include "conclave/hold.hpp"
#include "conclave/lock_options.hpp"
#include "conclave/scoped_hold.hpp"
#include "recipes/lock_object.hpp"

namespace conclave::client_impl {

using detail::deadline;
using detail::lock_pointer;
using role = layout::role;

struct lock_handle {
  core_pointer core;
  std::shared_ptr<recipes::lock_object> object;
  std::string path;  // as given by the user, for error messages
  const char* verb = "lock";
  bool keeps = false;                  // lock_options::keep_for is set
  bool in_wait_graph = false;          // its nodes show what waiters hold
  std::optional<std::size_t> permits;  // of a semaphore
  std::function<task_holds()> held_while_waiting;
  bool ended = false;  // the lock object was destroyed; used inside a session_context::scope
};

// Creates the lock that the request describes. The caller must have checked the path. If
// options.owner is empty, this process is the owner.
lock_pointer make_lock(client& c, std::string path, recipes::lock_request request,
                       std::optional<recipes::lock_request> admission, lock_options options,
                       recipes::progress_callback on_progress = {});
// Creates a lock on these paths whose initial request has this role. Throws errc::invalid_path for
// an invalid path, and errc::invalid_argument if the layout has no names for this role.
lock_pointer make_lock(client& c, std::vector<std::string> paths, role r, lock_options options);

void lock(const lock_pointer& l, role r);
bool lock(const lock_pointer& l, role r, std::stop_token stop);
// Like lock(), but returns the hold that this call acquired. (hold_of() may return a newer hold of
// another caller.) Returns nullopt if a stop was requested before the grant.
std::optional<hold> lock_to_hold(const lock_pointer& l, role r, std::stop_token stop);
bool try_lock(const lock_pointer& l, role r, deadline d);
// The hold that this call acquires may move to another thread, so nothing shows which task owns it.
void note_movable_hold(const lock_pointer& l) noexcept;
// Like try_lock(), but returns the hold that this call acquired. The result is empty if the call
// acquired no hold.
scoped_hold scoped_lock(const lock_pointer& l, role r, deadline d);
void unlock(const lock_pointer& l, role r) noexcept;
void unlock(const lock_pointer& l, const hold& h) noexcept;
void downgrade(const lock_pointer& l);
// Releases all holds and completes all waiting calls with operation_aborted.
void abandon(const lock_pointer& l) noexcept;
// Called when the lock object is destroyed. Like abandon(), but also waits for a running callback
// and calls the rest of them. Does not wait for a callback that is itself destroying the lock
// object.
void end(const lock_pointer& l) noexcept;
hold hold_of(const lock_pointer& l, role r);
std::uint64_t this_thread() noexcept;
std::string host_name();

}  // namespace conclave::client_impl
