// A program and all its descendants that still have the inherited descriptor open.
#pragma once

#include <sys/types.h>

#include <vector>

namespace conclave::cli {

class descendants {
 public:
  // Creates a pipe. The processes inherit its write end. Nobody reads from the pipe. Throws failure
  // if the pipe cannot be created.
  descendants();
  ~descendants();
  descendants(const descendants&) = delete;
  descendants& operator=(const descendants&) = delete;

  int inherited() const noexcept { return writing_; }
  // The descriptor to pass to poll(), with no requested events. POLLHUP means that no descendant is
  // left.
  int watched() const noexcept { return reading_; }
  // Call after the program has inherited its copy. Closes our own write end.
  void close_own_end() noexcept;

  bool alive() const noexcept { return alive(reading_); }
  bool kill_all() const { return kill_all(reading_); }

  // Returns those that we can see.
  std::vector<pid_t> visible() const { return visible(reading_); }

  // These functions are for another process that has inherited watched().
  static bool alive(int watched) noexcept;
  static std::vector<pid_t> visible(int watched);
  // Sends SIGKILL to each descendant that we can see and are permitted to kill, even if the
  // descendant has left the program's process group. If a descendant is in the process group
  // `group`, also kills this group. 0 means no group. Returns true when there is no such process
  // left. Returns false after one second: a killed process may not end while it waits for a disk.
  // The caller should then repeat the call later.
  static bool kill_all(int watched, pid_t group = 0);

 private:
  int reading_ = -1;
  int writing_ = -1;
};

}  // namespace conclave::cli
