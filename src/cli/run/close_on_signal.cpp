#include "cli/run/close_on_signal.hpp"

#include <pthread.h>
#include <unistd.h>

#include "cli/exit_code.hpp"
#include "cli/run/signals.hpp"

namespace conclave::cli {
namespace {

constexpr int wake_up = SIGUSR1;  // sent to our own thread to end it

}  // namespace

close_on_signal::close_on_signal() {
  ::sigemptyset(&signals_);
  for (const int s : ending_signals)
    if (!is_ignored(s)) ::sigaddset(&signals_, s);
  ::sigaddset(&signals_, wake_up);
  ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  thread_ = std::thread{[this] { run(); }};
}

close_on_signal::~close_on_signal() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  ::pthread_kill(thread_.native_handle(), wake_up);
  thread_.join();
}

std::shared_ptr<void> close_on_signal::closes(client& zk) {
  const std::lock_guard lock{mutex_};
  client_ = &zk;
  return {this, [](close_on_signal* s) {
            const std::lock_guard until_not_closing{s->mutex_};
            s->client_ = nullptr;
          }};
}

void close_on_signal::run() {
  int s = 0;
  while (::sigwait(&signals_, &s) != 0 || s == wake_up) {
    const std::lock_guard lock{mutex_};
    if (stopping_) return;
  }
  const std::lock_guard to_the_end{mutex_};
  if (client_ != nullptr) client_->close();
  if (s == SIGINT) die_of(s);
  ::_exit(128 + s);
}

}  // namespace conclave::cli
