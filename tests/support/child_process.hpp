// A child process that cannot outlive its test.
//
// The constructor returns once the program has been executed, and throws std::system_error when it
// could not be (so a missing program is reported where it is started). The destructor kills the
// child's whole process group and reaps the child; until then an ended child stays a zombie, so its
// number cannot come to mean another process. When the test process itself dies, even by
// SIGKILL, the kernel kills the child; that reaches the direct child only, not what it started.
//
// The kernel ties that promise to the *thread* that forked. All forks are therefore made by one
// thread that lives as long as the process, so a child may be started from any thread, also from a
// short-lived one. Do not start children in a process that was itself forked by the test.
//
// The child gets /dev/null as standard input, no descriptor other than 0, 1 and 2, an empty signal
// mask, and a process group of its own. All members may be called from any thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace conclave::testing {

struct child_options {
  explicit child_options(std::vector<std::string> arguments) : argv(std::move(arguments)) {}

  std::vector<std::string> argv;                   // argv[0] is looked up in PATH
  std::map<std::string, std::string> environment;  // added to the test's own
  std::filesystem::path directory;                 // empty: the test's own
  std::filesystem::path output;  // stdout and stderr are appended; empty: the test's own
};

struct exit_status {
  int code{-1};   // of exit(); -1 when a signal ended the process
  int signal{0};  // 0 when the process exited by itself
};

class child_process {
 public:
  explicit child_process(const child_options& options);
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  pid_t pid() const noexcept { return pid_; }
  bool running();

  // Sends a signal to the process, or to its whole group; does nothing once it has ended.
  void kill(int signal);
  void kill_group(int signal);

  // SIGSTOP, returning when the process has really stopped (or ended); and SIGCONT.
  void pause();
  void resume();

  // The status once the process has ended, or nothing when it still runs after the timeout.
  std::optional<exit_status> wait(std::chrono::milliseconds timeout);

 private:
  std::optional<exit_status> look();  // under mutex_

  pid_t pid_{-1};
  int pidfd_{-1};  // open as long as this object, so waiting needs no lock
  std::mutex mutex_;
  std::optional<exit_status> status_;
};

}  // namespace conclave::testing
