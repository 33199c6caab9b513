#include "cli/exit_code.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

namespace conclave::cli {

void die_of(int signal) {
  std::cout.flush();
  std::fflush(stdout);
  ::signal(signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::_exit(128 + signal);
}

}  // namespace conclave::cli
