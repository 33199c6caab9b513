#include "cli/run/terminal.hpp"

#include <unistd.h>

namespace conclave::cli {

terminal::terminal() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fd_ < 0 && ::tcgetpgrp(fd) >= 0) fd_ = fd;
}

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
