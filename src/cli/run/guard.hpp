// A small process that outlives conclave: it keeps the command's lock, or kills the command.
//
// With a server on this machine, the session lives as long as a process has a keeper of the session
// open (session_keeper.hpp). The command and its descendants inherit one keeper. The guard has
// another one, which they cannot break. A restarted server knows neither. The guard then attaches a
// new keeper, starts the server again if it is this user's own, and keeps the session until the
// last process of the command has ended. If it cannot do so in time, or the session has expired, it
// kills all of these processes.
//
// The guard watches the descendants by the inherited descriptor, and the command's own process also
// by a pidfd: ssh and sudo close the descriptors that they inherit.
//
// Over TCP, conclave itself holds the lock, and each reply of the server extends it. The guard
// kills the command's process group when conclave has died, or is stopped past the deadline.
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
  struct guarded_session {
    std::string socket;                  // of the server
    std::filesystem::path local_folder;  // the folder of this user's own server; otherwise empty
    session_key key;
    int keeper = -1;
  };
  // Throws failure if the system refuses another process or descriptor. `group`: the process group
  // of the command, which is not reaped yet; 0 if it is not started or has ended. `alive_for`: see
  // alive_for().
  guard(const descendants& command, const std::optional<guarded_session>& session, pid_t group,
        std::chrono::nanoseconds alive_for);

  // Call in the command's process before exec, as the leader of its process group: conclave may be
  // killed or stopped at any moment. Only system calls. Returns 0 or an error number.
  int command_starts() noexcept;
  // Call before the command is reaped: afterwards the number of its group may be reused, and the
  // guard would kill another group.
  void command_ended() noexcept { shared_->group = 0; }
  // Ends the guard and not the command. To leave the command to the guard, call _exit(2) instead.
  ~guard();
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;

  // Over TCP: the guard kills the command after this time unless this is called again.
  void alive_for(std::chrono::nanoseconds time) noexcept;
  // False after the guard has ended or was killed.
  bool alive() const noexcept;
  // Returns when the guard has closed its inherited descriptors, or has ended. Until then it looks
  // like a descendant of the command.
  void wait_until_started() const noexcept;
  // Whether the guard could not keep the lock and killed the command.
  bool killed_the_command() const noexcept { return shared_->killed; }

  // main() calls run_program() if this is its only argument. It is the second phase of a guard.
  static constexpr const char* argument = "--guard-process";
  static int run_program();

 private:
  struct shared {
    std::atomic<std::int64_t> until;  // CLOCK_BOOTTIME in ns
    std::atomic<pid_t> group;         // of the command; 0: none
    std::atomic<int> command;         // the pidfd of the command in the guard; -1: not received yet
    std::atomic<bool> killed;
    std::atomic<bool> has_started;
    // The session to keep; 0: none.
    session_key key;
    std::array<char, 108> socket, local_folder;
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
  [[noreturn]] static void watch_time(shared& page);
  [[noreturn]] static void watch_keeper(shared& page);
  static void kill_command(shared& page) noexcept;

  shared* shared_ = nullptr;
  int pipe_ = -1;  // a socket that the kernel closes when conclave dies
  mutable pid_t pid_ = -1;
};

}  // namespace conclave::cli
