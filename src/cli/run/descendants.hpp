// A program that we start, and every process that it starts: as long as one of them lives and has
// not closed what it inherited from us.
#pragma once

#include <sys/types.h>

namespace conclave::cli {

class descendants {
 public:
  // A pipe. The writing end is what the processes inherit; whatever they write is not read. Throws
  // failure.
  descendants();
  ~descendants();
  descendants(const descendants&) = delete;
  descendants& operator=(const descendants&) = delete;

  int inherited() const noexcept { return writing_; }
  int watched() const noexcept { return reading_; }  // polled without an event: POLLHUP at the end
  // The program has its own copy now.
  void started() noexcept;

  bool alive() const noexcept { return alive(reading_); }
  void kill_all() const { kill_all(reading_); }

  // For another process that has inherited watched().
  static bool alive(int watched) noexcept;
  // SIGKILL to each of them that we may see and kill, also if it has left its process group; and to
  // all of `group` if one of them is in it (0: none).
  static void kill_all(int watched, pid_t group = 0);

 private:
  int reading_ = -1;
  int writing_ = -1;
};

}  // namespace conclave::cli
