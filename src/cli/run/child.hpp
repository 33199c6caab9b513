// A started program. It has its own process group, so that signals reach all of its processes.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/run/guard.hpp"

namespace conclave::cli {

struct program {
  std::vector<std::string> arguments;  // the first one is looked up in $PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to our own environment
  // The stdin of the program. If nullopt, the program inherits our stdin.
  std::optional<std::string> input;
};

// Returns the program for `-c STRING`.
program shell(const std::string& line);

// Throws failure with not_found or not_executable if the program cannot be run now.
void require_executable(const program& p);

// Throws failure with system_failure if the limit on file sizes does not permit an input of 1 MiB.
// The input of a program is a file in memory.
void require_room_for_input();

class child {
 public:
  struct start_options {
    sigset_t signal_mask{};
    // If true, the kernel kills the program when the thread that started it terminates. The kernel
    // does not kill the program's own children.
    bool dies_with_parent = false;
    cli::guard& guard;             // is notified before the program runs
    std::array<int, 2> inherited;  // further descriptors that the program inherits
  };
  // Throws failure with not_found, not_executable or system_failure.
  child(const program& p, const start_options& t);
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  // Returns 0 after reap(), because the id may then be reused.
  pid_t group() const noexcept { return pid_; }
  enum class delivery {
    sent,
    // The kernel does not permit us to signal the program's own process, because it runs as another
    // user, for example as a set-uid program such as sudo. Other processes of the group may have
    // received the signal.
    refused,
  };
  // Sends the signal to the process group.
  delivery signal(int s) const noexcept;
  // Returns the running processes of the group that we are not permitted to signal. Call before
  // reap().
  std::vector<pid_t> out_of_reach() const;

  struct change {
    enum class kind { none, stopped, ended } what = kind::none;
    int signal = 0;  // the signal that stopped it
  };
  // Returns the change since the last call. The id of the process group is not reused before
  // reap().
  change poll_change() const;
  // Returns the exit code, or 128 plus the signal that ended the program.
  int reap();

 private:
  bool may_not_signal() const noexcept;

  pid_t pid_ = 0;
};

}  // namespace conclave::cli
