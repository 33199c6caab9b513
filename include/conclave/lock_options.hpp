// What can be set on a lock. The defaults are right for most uses.
//
// Callbacks run one at a time, on the I/O thread or on a thread that calls into this library, with
// no lock of the library held; they must not block and must not throw. None runs any more when the
// lock's destructor has returned.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "conclave/hold.hpp"
#include "conclave/layout.hpp"

namespace conclave {

struct lock_options {
  lock_options() = default;

  // How its nodes are named; every program that uses the lock must agree.
  conclave::layout layout = conclave::layout::curator();

  // Who we are, for people who look at the lock. Empty: the host's name and the process id.
  std::string owner;

  // Told once for each acquisition that has to wait in the line at the server: how many stood
  // before us. (Not for one that waits for another caller of the same object.) Knowing that takes a
  // look at the whole line, so without a callback nobody counts.
  std::function<void(std::size_t before_us)> on_enqueued;

  // The lock was acquired, or released by its user: unlock(), a guard, the lock's destructor. Every
  // acquisition ends with one call of on_released or on_lost, but not both. on_acquired is called
  // before the call that acquires the lock returns or completes, on_released before unlock()
  // returns; unless a callback of this lock is running on another thread, which then calls it next.
  std::function<void(const hold&)> on_acquired;
  std::function<void(const hold&)> on_released;

  // The connection was lost while the lock was held, or came back in time; see hold.hpp.
  std::function<void(const hold&)> on_suspended;
  std::function<void(const hold&)> on_restored;
  // As hold::lost(), with the reason; see hold::why_lost().
  std::function<void(const hold&, error_code why)> on_lost;

  // Somebody asks the holder to let go (conclave::ask_to_release, Curator's Revoker). Nothing
  // happens unless this unlocks, soon or later. Setting it costs one read for each acquisition.
  std::function<void(const hold&)> on_revocation;

  // Off: the line is read for every acquisition and every hand-off, as other libraries do.
  bool tickets = true;
};

}  // namespace conclave
