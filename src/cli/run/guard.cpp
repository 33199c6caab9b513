#include "cli/run/guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>

#include "cli/exit_code.hpp"

namespace conclave::cli {
namespace {

constexpr auto never = std::numeric_limits<std::int64_t>::max();

std::int64_t now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

}  // namespace

guard::guard(pid_t group) {
  void* const memory =
      ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::array<int, 2> ends{};
  if (memory == MAP_FAILED || ::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw failure{failed, std::strerror(errno)};
  page_ = new (memory) shared{{never}};
  line_ = ends[1];
  pid_ = ::fork();
  if (pid_ == 0) {
    // Only the pipe stays: neither our connection nor our output may be held open by it.
    ::dup2(ends[0], STDIN_FILENO);
    ::syscall(SYS_close_range, 1U, ~0U, 0U);
    watch(*page_, group);
  }
  const int why = errno;
  ::close(ends[0]);
  if (pid_ < 0) throw failure{failed, std::string{"cannot fork: "} + std::strerror(why)};
}

guard::~guard() {
  const char well = 0;
  [[maybe_unused]] const auto n = ::write(line_, &well, 1);
  ::close(line_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(page_, sizeof(shared));
}

void guard::alive_for(std::chrono::nanoseconds time) noexcept {
  const auto begin = now();
  page_->until = time.count() > never - begin ? never : begin + time.count();
}

// Calls nothing but the kernel: other threads' locks are as they were at the fork.
void guard::watch(const shared& page, pid_t group) {
  ::setsid();  // whoever signals our group does not mean the guard
  ::prctl(PR_SET_NAME, "conclave-guard");
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  while (true) {
    const auto left = (page.until.load() - now()) / 1'000'000;
    if (left < 0) break;
    pollfd p{STDIN_FILENO, POLLIN, 0};
    // poll() does not count the time in which the machine slept.
    if (::poll(&p, 1, static_cast<int>(std::min<std::int64_t>(left + 1, 1000))) <= 0) continue;
    char well = 0;
    if (::read(STDIN_FILENO, &well, 1) == 1) ::_exit(0);
    break;
  }
  ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace conclave::cli
