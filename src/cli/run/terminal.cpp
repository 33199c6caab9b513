#include "cli/run/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace conclave::cli {

terminal::terminal() : fd_{::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)} {}

terminal::~terminal() {
  if (fd_ >= 0) ::close(fd_);
}

bool in_foreground() { return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp(); }

bool terminal::give_to(pid_t group) {
  if (fd_ < 0 || ::tcgetpgrp(fd_) != ::getpgrp()) return false;
  child_has_terminal_ = ::tcsetpgrp(fd_, group) == 0;
  return child_has_terminal_;
}

void terminal::take_back() {
  if (!child_has_terminal_) return;
  child_has_terminal_ = false;
  ::tcsetpgrp(fd_, ::getpgrp());
}

}  // namespace conclave::cli
