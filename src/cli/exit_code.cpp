#include "cli/exit_code.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>

namespace conclave::cli {

int exit_code_of(const error_code& ec) noexcept {
  if (ec == errc::not_connected || ec == errc::connection_loss || ec == errc::session_expired ||
      ec == errc::tls_failed || ec == errc::system_error || ec == errc::auth_failed ||
      ec == errc::session_closed_require_sasl_auth)
    return unavailable;
  if (ec == errc::invalid_path || ec == errc::invalid_argument || ec == errc::bad_connect_string ||
      ec == errc::bad_secret)
    return usage;
  if (ec == errc::lock_lost || ec == errc::deadline_passed || ec == errc::node_deleted) return lost;
  if (ec == errc::no_auth) return no_permission;
  if (ec == errc::layout_mismatch || ec == errc::permits_mismatch) return disagrees;
  return failed;
}

bool is_shortage(int error_number) noexcept {
  return error_number == EMFILE || error_number == ENFILE || error_number == EAGAIN ||
         error_number == ENOMEM;
}

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
