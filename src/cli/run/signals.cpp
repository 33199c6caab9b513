#include "cli/run/signals.hpp"

#include <unistd.h>

#include <algorithm>

namespace conclave::cli {

bool is_ending_signal(int signal) {
  return std::find(ending_signals.begin(), ending_signals.end(), signal) != ending_signals.end();
}

bool is_ignored(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
}

void stop_on_ctrl_z(int signal) {
  if (signal == SIGTSTP) ::kill(::getpid(), SIGSTOP);
}

}  // namespace conclave::cli
