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

// What the guard has of us.
enum descriptor { line = STDIN_FILENO, server = STDOUT_FILENO, others = STDERR_FILENO };

std::int64_t now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

}  // namespace

guard::guard(const terms& t) {
  void* const memory =
      ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::array<int, 2> ends{};
  if (memory == MAP_FAILED || ::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw failure{failed, std::strerror(errno)};
  page_ = new (memory) shared{{never}, {0}};
  line_ = ends[1];
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setsid();  // whoever signals our group does not mean the guard
    ::prctl(PR_SET_NAME, "conclave-guard");
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::dup2(ends[0], line);
    ::close(server);
    if (t.server != 0) {
      const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, t.server, 0));
      if (fd >= 0 && fd != server) ::dup2(fd, server);
    }
    // Neither our connection nor our output may be held open by it.
    ::syscall(SYS_close_range, static_cast<unsigned>(others), ~0U, 0U);
    watch(*page_, t);
    if (const pid_t group = page_->group; group != 0) ::kill(-group, SIGKILL);
    ::_exit(0);
  }
  const int why = errno;
  ::close(ends[0]);
  if (pid_ < 0) throw failure{failed, std::string{"cannot fork: "} + std::strerror(why)};
}

guard::~guard() {
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::close(line_);
  ::munmap(page_, sizeof(shared));
}

void guard::alive_for(std::chrono::nanoseconds time) noexcept {
  const auto begin = now();
  page_->until = time.count() > never - begin ? never : begin + time.count();
}

// Returns when the group must die. Calls nothing but the kernel: other threads' locks are as they
// were at the fork.
void guard::watch(const shared& page, const terms& t) {
  auto without_server = never;
  bool alone = false;
  std::array<pollfd, 2> events{{{line, POLLIN, 0}, {server, POLLIN, 0}}};
  while (true) {
    if (alone && (!t.held_by_command || without_server != never)) return;
    const pid_t group = page.group;
    if (alone && (group == 0 || ::kill(-group, 0) != 0)) ::_exit(0);  // nobody is to be guarded
    const auto until = alone ? never : std::min(page.until.load(), without_server);
    const auto left = (until - now()) / 1'000'000;
    if (left < 0) return;
    // poll() does not count the time in which the machine slept.
    if (::poll(events.data(), events.size(),
               static_cast<int>(std::min<std::int64_t>(left + 1, 1000))) <= 0)
      continue;
    if (events[0].revents != 0) {
      alone = true;
      events[0].fd = -1;
    }
    if ((events[1].revents & POLLIN) != 0) {
      without_server = now() + t.without_server.count();
      events[1].fd = -1;
    }
    if ((events[1].revents & POLLNVAL) != 0) events[1].fd = -1;
  }
}

}  // namespace conclave::cli
