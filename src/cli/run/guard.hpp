// A small process that outlives conclave. It keeps the command's lock. If it cannot, it kills the
// command.
//
// With a server on this machine, the session lives as long as a process has a keeper of the session
// open (session_keeper.hpp). The command and its descendants inherit one keeper. The guard has its
// own keeper, which these processes do not inherit and therefore cannot shut down. A restarted
// server knows neither keeper, so the guard attaches a new one. If this user's own server is down,
// the guard starts it first. The guard keeps the session until the last process of the command has
// ended. If it cannot attach a keeper in time, or if the session has expired, it kills all of these
// processes.
//
// The guard watches the descendants through the inherited descriptor. It also watches the command's
// own process through a pidfd, because ssh and sudo close the descriptors that they inherit.
//
// Over TCP, conclave itself holds the lock, and each reply from the server extends the deadline.
// The guard kills the command's process group when conclave has died, or when conclave is still
// stopped at the deadline that it passed to the guard last (deadline_renewal.hpp).
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/run/descendants.hpp"
#include "conclave/boot_clock.hpp"
#include "conclave/session_keeper.hpp"

namespace conclave::cli {

class guard {
 public:
  struct guarded_session {
    std::string socket;                  // of the server
    std::filesystem::path local_folder;  // of this user's own server; empty for any other
    session_key key;
    int keeper = -1;
  };
  // Throws failure if the system cannot create a process or descriptor. `group` is the process
  // group of the command, or 0 if the command has not started yet or has ended. If `group` is not
  // 0, the command's own process must not have been reaped yet. For `deadline`, see set_deadline().
  guard(const descendants& command, const std::optional<guarded_session>& session, pid_t group,
        boot_clock::time_point deadline);

  // Passes the command's process and process group to the guard. Call in the command's process
  // before exec, when the process is the leader of its process group. The command's process itself
  // must call this function, because conclave may be killed or stopped at any moment. Uses only
  // system calls. Returns 0 or an error number.
  int command_starts() noexcept;
  // Call before the command is reaped. Reaping lets the system reuse the process group id. Without
  // this call, the guard could then kill an unrelated group.
  void command_ended() noexcept { shared_->group = 0; }
  // Kills the guard but not the command. To leave the guard running, end the process with _exit(),
  // which does not run this destructor.
  ~guard();
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;

  // Over TCP, the guard kills the command at this time unless a later deadline is set before. May
  // be called from any thread.
  void set_deadline(boot_clock::time_point t) noexcept {
    shared_->deadline = t.time_since_epoch().count();
  }
  // Returns false if the guard has exited or has been killed.
  bool alive() const noexcept;
  // Returns when the guard has closed its inherited descriptors, or has exited. Until then, the
  // guard looks like a descendant of the command.
  void wait_until_started() const noexcept;
  // Returns true if the guard has killed the command because it could not keep the lock.
  bool killed_the_command() const noexcept { return shared_->killed; }

  // If this is the only argument of main(), main() calls run_program(), the second phase of a
  // guard.
  static constexpr const char* argument = "--guard-process";
  static int run_program();

 private:
  struct shared {
    std::atomic<std::int64_t> deadline;  // CLOCK_BOOTTIME in ns
    std::atomic<pid_t> group;            // of the command; 0 if there is none
    std::atomic<int> command;  // the pidfd of the command in the guard; -1 if not received yet
    std::atomic<bool> killed;
    std::atomic<bool> has_started;
    // The session to keep. Its id is 0 if there is no session.
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
