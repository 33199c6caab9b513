// A program that was started: in a process group of its own, so that all of it can be reached.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace conclave::cli {

struct program {
  std::vector<std::string> arguments;  // the first one is looked up in $PATH
  std::vector<std::pair<std::string, std::string>> environment;  // besides our own
  std::optional<std::string> input;  // what it reads; without it, what we would
};

// What `-c STRING` runs.
program shell(const std::string& line);

class child {
 public:
  struct terms {
    sigset_t signal_mask{};
    bool dies_with_us = false;  // killed with the thread that starts it; its own children are not
    std::atomic<pid_t>& group;  // set before the program begins
    std::array<int, 2> inherited;  // descriptors that it gets, besides those that everybody gets
  };
  // Throws failure with not_found or not_executable.
  child(const program& p, const terms& t);
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  // 0 once it was reaped: its number may be another group's then.
  pid_t group() const noexcept { return pid_; }
  void signal(int s) const noexcept {
    if (pid_ != 0) ::kill(-pid_, s);
  }

  struct change {
    enum class kind { none, stopped, ended } what = kind::none;
    int signal = 0;  // by which it was stopped
  };
  // What has become of it since the last time. One that has ended keeps its process group's number
  // from being given to others until reap().
  change look() const;
  // Its exit code, or 128 and the signal that ended it.
  int reap();

 private:
  pid_t pid_ = 0;
};

}  // namespace conclave::cli
