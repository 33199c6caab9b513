// A program that was started, in a process group of its own so that signals reach all of it.
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
  std::optional<std::string> input;  // stdin of the program; without it, the program inherits ours
};

// The program for `-c STRING`.
program shell(const std::string& line);

class child {
 public:
  struct start_options {
    sigset_t signal_mask{};
    // The kernel kills it when the thread that started it ends; does not apply to its own children.
    bool dies_with_parent = false;
    cli::guard& guard;             // learns of the program before it runs
    std::array<int, 2> inherited;  // further descriptors that the program inherits
  };
  // Throws failure with not_found, not_executable or system_failure.
  child(const program& p, const start_options& t);
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  // 0 after reap(), because the number may be reused.
  pid_t group() const noexcept { return pid_; }
  enum class delivery {
    sent,
    // We may not signal the program's own process, because it runs as another user. A set-uid
    // program such as sudo does so. Other processes of its group may have got the signal.
    refused,
  };
  // Sends it to the process group.
  delivery signal(int s) const noexcept;
  // The processes of the group that run and that we may not signal. Call before reap().
  std::vector<pid_t> out_of_reach() const;

  struct change {
    enum class kind { none, stopped, ended } what = kind::none;
    int signal = 0;  // the signal that stopped it
  };
  // The change since the last call. The number of the process group is not reused before reap().
  change poll_change() const;
  // The exit code, or 128 plus the signal that ended the program.
  int reap();

 private:
  bool may_not_signal() const noexcept;

  pid_t pid_ = 0;
};

}  // namespace conclave::cli
