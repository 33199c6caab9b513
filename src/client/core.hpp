// The parts of a client.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "conclave/client.hpp"
#include "recipes/session_context.hpp"
#include "requests/requests.hpp"
#include "runtime/session_driver.hpp"

namespace conclave::client_impl {

using detail::core_pointer;
using detail::handler;
using detail::receiver;

struct shared_consumers;

struct client_core {
  std::shared_ptr<runtime::io_thread> thread;
  std::shared_ptr<runtime::session_driver> driver;
  std::shared_ptr<const requests::defaults> defaults;
  bool open_by_default = false;  // the user gave neither an ACL nor credentials
  log_callback log;
  std::atomic<bool> open_acl_reported{false};
  // Used by locks, semaphores, elections and queues.
  std::shared_ptr<recipes::session_context> recipes;
  // The consumers of all queue objects (queue.cpp), null before the first one. Used inside a
  // session_context::scope.
  std::shared_ptr<shared_consumers> consumers;

  // Returns true in a forked child process, which must not use its parent's session.
  bool forked() const noexcept { return driver->loop().in_child(); }

  // The next two functions throw conclave::error. `what` is the name of the call for the message.
  //
  // Throws if this thread must not block: in a forked child process (errc::forked) and on the I/O
  // thread (errc::would_deadlock).
  void require_may_block(const std::string& what) const;
  // `why` explains the error. If the client is not connected, the message contains the last
  // connection error instead.
  [[noreturn]] void fail(error_code ec, const std::string& what, std::string why = {}) const;
};

// In a forked child process, keeps `object` alive forever. Destroying it there would use the
// parent's session, and data that another thread of the parent was changing during the fork.
template <class T>
void keep_in_child(const client_core& core, const std::shared_ptr<T>& object) noexcept {
  if (core.forked()) new (std::nothrow) std::shared_ptr<T>{object};
}

struct core_access {
  static const core_pointer& of(const client& c) { return c.core_; }
};

}  // namespace conclave::client_impl
