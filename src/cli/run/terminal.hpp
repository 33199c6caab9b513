// The terminal, and who of us has it: programs in other process groups than the terminal's are
// stopped when they read from it.
//
// A child is in a group of its own, and begins in the background: Ctrl-C and Ctrl-Z then still
// reach the shell script, or the pipeline, that we are part of, and we pass them on. Only when the
// child wants to use the terminal, and is stopped for that, is it handed over.
#pragma once

#include <sys/types.h>

namespace conclave::cli {

// Whether stderr is a terminal on which nobody else is at work.
bool in_foreground();

class terminal {
 public:
  // Ours, whether or not stdin or the like is connected to it.
  terminal();
  ~terminal();
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  // Hands it to the child's group, if it is ours to give.
  bool give(pid_t group);
  // Back to us, if a child has it.
  void take_back();
  bool given() const noexcept { return given_; }

 private:
  int fd_ = -1;
  bool given_ = false;
};

}  // namespace conclave::cli
