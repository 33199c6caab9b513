#include "cli/run/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace conclave::cli {

terminal::terminal() : fd_{::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)} {}

terminal::~terminal() {
  if (fd_ >= 0) ::close(fd_);
}

bool in_foreground() { return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp(); }

bool terminal::give(pid_t group) {
  if (fd_ < 0 || ::tcgetpgrp(fd_) != ::getpgrp()) return false;
  given_ = ::tcsetpgrp(fd_, group) == 0;
  return given_;
}

void terminal::take_back() {
  if (!given_) return;
  given_ = false;
  ::tcsetpgrp(fd_, ::getpgrp());
}

}  // namespace conclave::cli
