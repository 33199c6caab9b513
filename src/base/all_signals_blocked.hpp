#pragma once

#include <signal.h>

namespace conclave {

// Blocks all signals. A thread that is started during the lifetime of this object receives no
// signals. The system delivers signals to the application's own threads instead.
class all_signals_blocked {
 public:
  all_signals_blocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~all_signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  all_signals_blocked(const all_signals_blocked&) = delete;
  all_signals_blocked& operator=(const all_signals_blocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace conclave
