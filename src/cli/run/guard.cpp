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
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>

#include "cli/connect/local_server.hpp"
#include "cli/exit_code.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto never = std::numeric_limits<std::int64_t>::max();

// The descriptors of the guard. The standard descriptors are /dev/null: the guard must not keep our
// connection or our output open, nor print anything.
enum descriptor { parent_pipe = 3, command_pipe, page_file, keeper_socket, first_other };

std::int64_t now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

void close_all(unsigned from, unsigned to) noexcept {
  if (from <= to) ::syscall(SYS_close_range, from, to, 0U);
}

void take_descriptors(std::array<int, 4> ours) noexcept {
  // First close all other descriptors, so that the copies fit into a low limit of open files.
  auto kept = ours;
  std::sort(kept.begin(), kept.end());
  unsigned next = STDERR_FILENO + 1;
  for (const int fd : kept) {
    if (fd < static_cast<int>(next)) continue;
    close_all(next, static_cast<unsigned>(fd) - 1);
    next = static_cast<unsigned>(fd) + 1;
  }
  close_all(next, ~0U);
  // A descriptor may already have one of the target numbers, so move all of them first.
  constexpr int first_temporary = first_other;
  for (auto& fd : ours) fd = fd < 0 ? -1 : ::fcntl(fd, F_DUPFD, first_temporary);
  const int nothing = ::fcntl(::open("/dev/null", O_RDWR), F_DUPFD, first_temporary);
  for (const int i : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, i);
  int number = parent_pipe;
  for (const int fd : ours) {
    ::close(number);
    if (fd >= 0) ::dup2(fd, number);
    ++number;
  }
  close_all(first_other, ~0U);
}

std::int64_t deadline_after(std::chrono::nanoseconds time) noexcept {
  const auto begin = now();
  return time.count() > never - begin ? never : begin + time.count();
}

template <std::size_t N>
void copy_text(const std::string& from, std::array<char, N>& to) {
  if (from.size() >= N)
    throw failure{failed, "'" + from + "' is too long for the path of a socket"};
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

guard::guard(const descendants& of, const std::optional<guarded_session>& session, pid_t group,
             std::chrono::nanoseconds alive_for) {
  shared begin{{deadline_after(alive_for)}, {group}, {false}, {false}, {}, {}, {}};
  if (session) {
    begin.key = session->key;
    copy_text(session->socket, begin.socket);
    copy_text(session->local_folder.string(), begin.local_folder);
  }
  const int file = ::memfd_create("guard", MFD_CLOEXEC);
  std::array<int, 2> ends{};
  void* memory = MAP_FAILED;
  if (file >= 0 && ::ftruncate(file, sizeof(shared)) == 0)
    memory = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    const int why = errno;
    if (memory != MAP_FAILED) ::munmap(memory, sizeof(shared));
    if (file >= 0) ::close(file);
    throw failure{system_failure,
                  std::string{"cannot create the guard process: "} + std::strerror(why)};
  }
  // Complete before the fork: conclave may be killed or stopped right after it.
  shared_ = new (memory) shared{
      {begin.until.load()}, {group}, {false}, {false}, begin.key, begin.socket, begin.local_folder};
  pipe_ = ends[1];
  pid_ = ::fork();
  if (pid_ == 0) {
    // Only system calls from here on, because other threads may have held locks at the fork. A
    // process group of its own: signals to our group are not for the guard. Not a session of its
    // own: Linux schedules each session as a group (autogroup), and a new one may wait for seconds
    // on a busy machine.
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, "conclave-guard");
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    take_descriptors({ends[0], of.watched(), file, session ? session->keeper : -1});
    shared_->has_started = true;
    session ? watch_keeper(*shared_) : watch_time(*shared_);
  }
  const int why = errno;
  // Also here: until the guard has run, signals to our group would reach it.
  if (pid_ > 0) ::setpgid(pid_, pid_);
  ::close(ends[0]);
  ::close(file);
  if (pid_ > 0) return;
  ::close(pipe_);
  ::munmap(shared_, sizeof(shared));
  throw failure{system_failure,
                std::string{"cannot create the guard process: "} + std::strerror(why)};
}

guard::~guard() {
  if (alive()) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(pipe_);
  ::munmap(shared_, sizeof(shared));
}

bool guard::alive() const noexcept {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;
  return pid_ > 0;
}

void guard::wait_until_started() const noexcept {
  while (!shared_->has_started && alive()) ::poll(nullptr, 0, 1);
}

void guard::alive_for(std::chrono::nanoseconds time) noexcept {
  shared_->until = deadline_after(time);
}

void guard::watch_time(shared& page) {
  pollfd us{parent_pipe, 0, 0};
  while (us.revents == 0) {
    const auto left = (page.until - now()) / 1'000'000;
    if (left < 0) break;
    // poll() does not count the time while the machine sleeps, so wake up every second.
    ::poll(&us, 1, static_cast<int>(std::min<std::int64_t>(left + 1, 1000)));
  }
  kill_command(page);
  ::_exit(0);
}

// The number still belongs to the command's group, because conclave clears it before it reaps the
// command. If conclave was killed, this is called at once.
void guard::kill_command(shared& page) noexcept {
  page.killed = true;
  if (const pid_t group = page.group; group != 0) ::kill(-group, SIGKILL);
}

// Waits until the server closes the connection. The reaction then needs a whole program.
void guard::watch_keeper(shared& page) {
  std::array<pollfd, 3> events{
      {{parent_pipe, 0, 0}, {command_pipe, 0, 0}, {keeper_socket, POLLRDHUP, 0}}};
  while (events[2].revents == 0) {
    if (events[0].fd < 0 && events[1].fd < 0) ::_exit(0);  // the session then ends
    if (::poll(events.data(), events.size(), -1) <= 0) continue;
    for (auto* const e : {&events[0], &events[1]})
      if (e->revents != 0) e->fd = -1;
  }
  ::close(keeper_socket);
  std::array<char, 9> name{"conclave"};
  std::array<char, 32> flag{};
  std::strcpy(flag.data(), argument);
  const std::array<char*, 3> arguments{name.data(), flag.data(), nullptr};
  ::execve("/proc/self/exe", arguments.data(), environ);
  kill_command(page);
  ::_exit(1);
}

int guard::run_program() {
  ::prctl(PR_SET_NAME, "conclave-guard");
  void* const memory =
      ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, page_file, 0);
  if (memory == MAP_FAILED)
    throw failure{usage, "--guard-process is only for use by conclave itself"};
  auto& page = *static_cast<shared*>(memory);
  const std::string socket = page.socket.data();
  const std::string folder = page.local_folder.data();
  const auto timeout = std::chrono::nanoseconds{page.key.timeout}.count();

  auto deadline = now() + timeout * 3 / 4;
  const auto start_server = [&] {
    if (folder.empty()) return;
    try {
      const std::chrono::nanoseconds left{std::max<std::int64_t>(deadline - now(), 0)};
      ensure_local_server(folder, std::chrono::ceil<std::chrono::milliseconds>(left));
    } catch (const failure&) {
      // Without a server, the attempts continue until the time limit.
    }
  };
  const auto has_open_end = [](int pipe) { return descendants::alive(pipe); };
  enum class verdict { none, lost } outcome = verdict::none;
  session_keeper keeper;
  while (has_open_end(command_pipe) && outcome == verdict::none) {
    std::array<pollfd, 2> events{{{command_pipe, 0, 0}, {keeper.descriptor(), POLLRDHUP, 0}}};
    if (!keeper.broken()) {
      ::poll(events.data(), events.size(), -1);
      deadline = now() + timeout * 3 / 4;
      continue;
    }
    start_server();
    keeper = session_keeper{socket, page.key, 1s};
    if (keeper.state() == session_keeper::result::attached) continue;
    if (keeper.state() == session_keeper::result::session_over || now() > deadline)
      outcome = verdict::lost;
    else
      ::poll(events.data(), 1, 20);
  }
  if (outcome == verdict::lost) {
    page.killed = true;
    // Does not use kill_command(). If conclave was killed, init may have reaped the command, and
    // the number of its group may belong to another process.
    descendants::kill_all(command_pipe, page.group);
    return ok;
  }
  // The guard must not end before conclave has ended.
  pollfd us{parent_pipe, 0, 0};
  while (::poll(&us, 1, -1) <= 0) {
  }
  deadline = now() + timeout * 3 / 4;
  start_server();
  session_keeper::bind_session(socket, page.key, 1s);
  return ok;
}

}  // namespace conclave::cli
