// A small process beside us that outlives us, and kills the command's whole process group when
// nobody is left who can hold the lock for it.
//
// Over TCP the lock is held by us, from word to word of the server: the group dies when we do, or
// when we are stopped and the time has passed.
//
// On the server of this machine what the command has inherited from us holds the lock, whatever
// happens to us; but only this server knows of that. When it is gone, somebody must come back to
// its successor in time: we. If we are gone as well, or do not stir, the group dies.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace conclave::cli {

class guard {
 public:
  struct terms {
    bool held_by_command = false;                // by what it has inherited, with this server:
    pid_t server = 0;                            // 0: not to be seen
    std::chrono::nanoseconds without_server{0};  // for so long we can come back
  };
  // Throws failure if there is no room for another process.
  explicit guard(const terms& t);

  // Whom it guards. To be set by the command's process itself, before it becomes the command: we
  // may be killed or stopped at any moment.
  std::atomic<pid_t>& group() noexcept { return page_->group; }
  // The group is let live.
  ~guard();
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;

  // Nothing may be alive after that, unless a later moment is told in time.
  void alive_for(std::chrono::nanoseconds time) noexcept;

 private:
  struct shared {
    std::atomic<std::int64_t> until;  // by CLOCK_BOOTTIME, in ns
    std::atomic<pid_t> group;
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
  static void watch(const shared& page, const terms& t);

  shared* page_ = nullptr;
  int line_ = -1;  // a pipe: closed when we are gone
  pid_t pid_ = -1;
};

}  // namespace conclave::cli
