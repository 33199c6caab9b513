// The controlling terminal and its foreground process group. The kernel stops background processes
// that read from the terminal.
//
// A child is in its own process group and starts in the background. So Ctrl-C and Ctrl-Z still
// reach the script or pipeline that we belong to, and we pass them on to the child. If the child
// tries to use the terminal, the kernel stops the child. Only then do we make the child's group the
// foreground group.
#pragma once

#include <sys/types.h>

namespace conclave::cli {

// Returns true if stderr is a terminal and we are in its foreground process group.
bool in_foreground();

class terminal {
 public:
  // Opens our controlling terminal, even if stdin, stdout and stderr are redirected.
  terminal();
  ~terminal();
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  // Gives the terminal to the child's group if we have the terminal. Returns whether the child's
  // group has it now.
  bool give_to(pid_t group);
  // Takes the terminal back from the child.
  void take_back();
  bool child_has_terminal() const noexcept { return child_has_terminal_; }

 private:
  int fd_ = -1;
  bool child_has_terminal_ = false;
};

}  // namespace conclave::cli
