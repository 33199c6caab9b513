#include "cli/run/signals.hpp"

#include <unistd.h>

#include <algorithm>

namespace conclave::cli {

namespace {
bool file_size_signal_was_ignored = true;
}

bool is_ending_signal(int signal) {
  return std::find(ending_signals.begin(), ending_signals.end(), signal) != ending_signals.end();
}

bool is_ignored(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
}

void ignore_file_size_signal() {
  file_size_signal_was_ignored = is_ignored(SIGXFSZ);
  ::signal(SIGXFSZ, SIG_IGN);
}

void restore_file_size_signal() noexcept {
  if (!file_size_signal_was_ignored) ::signal(SIGXFSZ, SIG_DFL);
}

void stop_on_ctrl_z(int signal) {
  if (signal == SIGTSTP) ::kill(::getpid(), SIGSTOP);
}

}  // namespace conclave::cli
