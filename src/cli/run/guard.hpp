// A small process beside us that outlives us: it kills the child's whole group when we are killed,
// or when we are stopped and the time for which we hold the lock has passed.
//
// For servers that count time (TCP). Where the server sees processes, the child's own connection
// keeps the lock instead.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace conclave::cli {

class guard {
 public:
  // Throws failure if there is no room for another process.
  explicit guard(pid_t group);
  // The group is let live.
  ~guard();
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;

  // Nothing may be alive after that, unless a later moment is told in time.
  void alive_for(std::chrono::nanoseconds time) noexcept;

 private:
  struct shared {
    std::atomic<std::int64_t> until;  // by CLOCK_BOOTTIME, in ns
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
  [[noreturn]] static void watch(const shared& page, pid_t group);

  shared* page_ = nullptr;
  int line_ = -1;  // a pipe: closed when we are gone
  pid_t pid_ = -1;
};

}  // namespace conclave::cli
