// A small process beside us that outlives us: it keeps the command's lock, or kills the command.
//
// On a server of this machine the session lives as long as a process has the session's keeper
// (session_keeper.hpp). The command and everything that it starts inherit one; the guard has
// another one, which they cannot break. A restarted server knows neither. The guard then attaches a
// new keeper, starts the server again if it is this user's own, and holds the session until the
// last of the command's processes has ended. If it cannot do so in time, or the session is over, it
// kills all of them.
//
// Over TCP the lock is held by us, from word to word of the server: the guard kills the command's
// process group when we are gone, or are stopped and the time has passed.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/run/descendants.hpp"
#include "conclave/session_keeper.hpp"

namespace conclave::cli {

class guard {
 public:
  struct kept_session {
    std::string socket;                  // of the server
    std::filesystem::path local_folder;  // of this user's own server; otherwise empty
    session_key key;
    int keeper = -1;
  };
  // Throws failure if there is no room for another process. `command` has not been started yet, or
  // group() is set.
  guard(const descendants& command, const std::optional<kept_session>& kept);

  // Whom it guards; 0: nobody. To be set by the command's process itself, before it becomes the
  // command: we may be killed or stopped at any moment. To be cleared before that process is
  // reaped: until then its number is not given to another process, whose group would be killed.
  std::atomic<pid_t>& group() noexcept { return page_->group; }
  // The guard ends, and the command lives. To leave the command to the guard, end by _exit(2).
  ~guard();
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;

  // Over TCP: the command may not be alive after that, unless a later moment is told in time.
  void alive_for(std::chrono::nanoseconds time) noexcept;
  // False once it has ended, or was killed by others.
  bool alive() const noexcept;
  // Returns when it has closed what it got from us, or has ended. Until then it may seem to be one
  // of the command's descendants.
  void wait_until_begun() const noexcept;
  // The lock could not be kept.
  bool killed_the_command() const noexcept { return page_->killed; }

  // What main() does if it was started with this argument: the second half of a guard's life.
  static constexpr const char* argument = "--guard-process";
  static int run_program();

 private:
  struct shared {
    std::atomic<std::int64_t> until;  // by CLOCK_BOOTTIME, in ns
    std::atomic<pid_t> group;
    std::atomic<bool> killed;
    std::atomic<bool> has_begun;
    // Of the session that is kept; 0: there is none.
    session_key key;
    std::array<char, 108> socket, local_folder;
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
  [[noreturn]] static void watch_time(shared& page);
  [[noreturn]] static void watch_keeper(shared& page);
  static void kill_command(shared& page) noexcept;

  shared* page_ = nullptr;
  int line_ = -1;  // a pipe: closed when we are gone
  mutable pid_t pid_ = -1;
};

}  // namespace conclave::cli
