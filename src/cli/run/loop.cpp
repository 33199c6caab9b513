#include "cli/run/loop.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "cli/exit_code.hpp"

namespace conclave::cli {

loop::loop() {
  // If SIGCHLD is ignored, the kernel does not report how children end.
  if (is_ignored(SIGCHLD)) ::signal(SIGCHLD, SIG_DFL);
  sigset_t handled;
  ::sigemptyset(&handled);
  for (const int s : {SIGTSTP, SIGCONT, SIGCHLD, SIGWINCH})
    if (!is_ignored(s)) ::sigaddset(&handled, s);
  for (const int s : ending_signals)
    if (!is_ignored(s)) ::sigaddset(&handled, s);
  sigset_t blocked = handled;
  // Allows a background process to change the foreground process group.
  ::sigaddset(&blocked, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &original_);
  signals_ = ::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  posted_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signals_ < 0 || posted_ < 0)
    throw failure{system_failure,
                  std::string{"cannot create the event loop: "} + std::strerror(errno)};
}

loop::~loop() {
  ::close(signals_);
  ::close(posted_);
}

void loop::post(std::function<void()> f) {
  const std::lock_guard lock{mutex_};
  posts_.push_back(std::move(f));
  const std::uint64_t one = 1;
  // The write fails only if the counter is full, and then the loop wakes up anyway.
  [[maybe_unused]] const auto n = ::write(posted_, &one, sizeof one);
}

int loop::run() {
  while (!code_) {
    const auto next = on_turn_ ? on_turn_() : clock::time_point::max();
    if (code_) break;
    wait(next);
    run_posts();
    if (!code_) handle_signals();
  }
  return *code_;
}

void loop::wait(clock::time_point until) {
  int limit = -1;
  if (until != clock::time_point::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
    limit = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
  }
  std::array<pollfd, 2> both{{{signals_, POLLIN, 0}, {posted_, POLLIN, 0}}};
  ::poll(both.data(), both.size(), limit);
}

void loop::handle_signals() {
  signalfd_siginfo info{};
  while (!code_ && ::read(signals_, &info, sizeof info) == sizeof info)
    if (on_signal_) on_signal_(static_cast<int>(info.ssi_signo));
}

void loop::run_posts() {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const auto n = ::read(posted_, &ignored, sizeof ignored);
  std::vector<std::function<void()>> now;
  {
    const std::lock_guard lock{mutex_};
    now.swap(posts_);
  }
  for (auto& f : now) f();
}

}  // namespace conclave::cli
