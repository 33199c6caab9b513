#include "cli/run/guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

#include "cli/connect/local_server.hpp"
#include "cli/exit_code.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

// The descriptors of the guard. Its standard descriptors are /dev/null, because the guard must not
// print anything and must not keep our connection or our output open.
enum descriptor { conclave_socket = 3, command_pipe, page_file, keeper_socket, first_other };

std::int64_t now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

void close_all(unsigned from, unsigned to) noexcept {
  if (from <= to) ::syscall(SYS_close_range, from, to, 0U);
}

void take_descriptors(std::array<int, 4> ours) noexcept {
  // First close all other descriptors, so that the copies fit into a low limit on open files.
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
  int number = conclave_socket;
  for (const int fd : ours) {
    ::close(number);
    if (fd >= 0) ::dup2(fd, number);
    ++number;
  }
  close_all(first_other, ~0U);
}

// A message of one byte with one descriptor.
class descriptor_message {
 public:
  descriptor_message() noexcept {
    header_.msg_iov = &part_;
    header_.msg_iovlen = 1;
    header_.msg_control = control_.data();
    header_.msg_controllen = control_.size();
  }
  descriptor_message(const descriptor_message&) = delete;
  descriptor_message& operator=(const descriptor_message&) = delete;

  // Returns 0 or an error number.
  int send(int socket, int fd) noexcept {
    auto* const c = CMSG_FIRSTHDR(&header_);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
    while (::sendmsg(socket, &header_, MSG_NOSIGNAL) < 0)
      if (errno != EINTR) return errno;
    return 0;
  }

  enum class result { received, nothing, closed };
  result receive(int socket) noexcept {
    const auto n = ::recvmsg(socket, &header_, MSG_DONTWAIT);
    if (n > 0) return result::received;
    const bool later = n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOMEM);
    return later ? result::nothing : result::closed;
  }
  // Returns the descriptor of a received message, or -1 if it has none.
  int descriptor() noexcept {
    int fd = -1;
    const auto* const c = CMSG_FIRSTHDR(&header_);
    if (c != nullptr && c->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
  }

 private:
  char byte_ = 0;
  iovec part_{&byte_, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control_{};
  msghdr header_{};
};

// Sends a pidfd of `pid` to the guard. The process must not have been reaped yet. Returns 0 or an
// error number. In a sandbox without pidfds, the guard knows the command only by the inherited
// descriptor.
int send_process(int socket, pid_t pid) noexcept {
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ENOSYS || errno == EPERM ? 0 : errno;
  const int why = descriptor_message{}.send(socket, fd);
  ::close(fd);
  // If the guard was killed, it is replaced by a new guard, which gets its own pidfd.
  return why == EPIPE || why == ECONNRESET ? 0 : why;
}

// conclave and the command, as seen by a guard that keeps a session. Uses only system calls,
// because the guard also uses this class right after the fork.
class watched_processes {
 public:
  // `pidfd` refers to the command's own process. It is -1 if the guard has not received it yet. It
  // survives the exec of the guard.
  explicit watched_processes(std::atomic<int>& pidfd) noexcept
      : pidfd_{pidfd}, command_{pidfd < 0 ? state::not_started : state::running} {}

  // Waits until a process has ended, `connection` has hung up or `limit` milliseconds have passed.
  // A limit of -1 means no limit, and a connection of -1 means none. Returns whether `connection`
  // has hung up.
  bool wait(int connection, int limit) noexcept {
    const auto unless_ended = [](state s, int fd) { return s == state::running ? fd : -1; };
    std::array<pollfd, 4> events{{{unless_ended(conclave_, conclave_socket), POLLIN, 0},
                                  {unless_ended(descendants_, command_pipe), 0, 0},
                                  {unless_ended(command_, pidfd_), POLLIN, 0},
                                  {connection, POLLRDHUP, 0}}};
    if (::poll(events.data(), events.size(), limit) <= 0) return false;
    if (events[0].revents != 0) receive();
    if (events[1].revents != 0) descendants_ = state::ended;
    if (events[2].revents != 0) command_ = state::ended;
    return events[3].revents != 0;
  }

  // The command's own process counts even if it has closed the inherited descriptor.
  bool command_ended() const noexcept {
    if (descendants_ != state::ended || command_ == state::running) return false;
    return command_ == state::ended || conclave_ended();
  }
  bool conclave_ended() const noexcept { return conclave_ == state::ended; }

  // Kills the command's process group if the command's own process has not been reaped. After that,
  // the id of the group may be reused.
  void kill_group(pid_t group) const noexcept {
    if (command_ != state::running || group == 0) return;
    if (::syscall(SYS_pidfd_send_signal, pidfd_.load(), 0, nullptr, 0) == 0 || errno == EPERM)
      ::kill(-group, SIGKILL);
  }

 private:
  enum class state { not_started, running, ended };

  void receive() noexcept {
    descriptor_message m;
    const auto result = m.receive(conclave_socket);
    if (result == descriptor_message::result::closed) conclave_ = state::ended;
    const int fd = result == descriptor_message::result::received ? m.descriptor() : -1;
    if (fd < 0) return;
    pidfd_ = fd;
    command_ = state::running;
  }

  std::atomic<int>& pidfd_;
  state conclave_ = state::running;
  state descendants_ = state::running;  // the processes with the inherited descriptor
  state command_;                       // the command's own process
};

template <std::size_t N>
void copy_text(const std::string& from, std::array<char, N>& to) {
  if (from.size() >= N)
    throw failure{failed, "'" + from + "' is too long for the path of a socket"};
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

guard::guard(const descendants& of, const std::optional<guarded_session>& session, pid_t group,
             boot_clock::time_point deadline) {
  shared begin{{deadline.time_since_epoch().count()}, {group}, {-1}, {false}, {false}, {}, {}, {}};
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
  if (memory == MAP_FAILED ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    const int why = errno;
    if (memory != MAP_FAILED) ::munmap(memory, sizeof(shared));
    if (file >= 0) ::close(file);
    throw failure{system_failure,
                  std::string{"cannot create the guard process: "} + std::strerror(why) +
                      (why == EFBIG ? "; raise the limit on file sizes: ulimit -f" : "")};
  }
  // This page must be complete before the fork, because conclave may be killed or stopped right
  // after it.
  shared_ = new (memory)
      shared{{begin.deadline.load()}, {group}, {-1}, {false}, {false}, begin.key, begin.socket,
             begin.local_folder};
  pipe_ = ends[1];
  int why = group != 0 && session ? send_process(pipe_, group) : 0;
  if (why == 0) {
    pid_ = ::fork();
    why = errno;
  }
  if (pid_ == 0) {
    // Use only system calls from here on, because other threads may have held locks at the fork.
    // The guard gets its own process group, because signals to our group are not for the guard. It
    // does not get its own session, because Linux schedules each session as a group (autogroup),
    // and a new session may wait for seconds on a busy machine.
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, "conclave-guard");
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    take_descriptors({ends[0], of.watched(), file, session ? session->keeper : -1});
    shared_->has_started = true;
    session ? watch_keeper(*shared_) : watch_time(*shared_);
  }
  // This is also done here, because signals to our group would reach the guard until it has run.
  if (pid_ > 0) ::setpgid(pid_, pid_);
  ::close(ends[0]);
  ::close(file);
  if (pid_ > 0) return;
  ::close(pipe_);
  ::munmap(shared_, sizeof(shared));
  throw failure{system_failure,
                std::string{"cannot create the guard process: "} + std::strerror(why)};
}

int guard::command_starts() noexcept {
  shared_->group = ::getpid();
  return shared_->key.session != 0 ? send_process(pipe_, ::getpid()) : 0;
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

void guard::watch_time(shared& page) {
  pollfd us{conclave_socket, 0, 0};
  while (us.revents == 0) {
    const auto left = (page.deadline - now()) / 1'000'000;
    if (left < 0) break;
    // poll() does not count time during which the machine sleeps, so wake up every second.
    ::poll(&us, 1, static_cast<int>(std::min<std::int64_t>(left + 1, 1000)));
  }
  kill_command(page);
  ::_exit(0);
}

// The id still belongs to the command's group, because conclave clears page.group before it reaps
// the command. If conclave was killed, this function is called at once.
void guard::kill_command(shared& page) noexcept {
  page.killed = true;
  if (const pid_t group = page.group; group != 0) ::kill(-group, SIGKILL);
}

// Waits until the server closes the connection. Then executes this program again (run_program()),
// because attaching a new keeper takes more than system calls.
void guard::watch_keeper(shared& page) {
  watched_processes all{page.command};
  while (!all.wait(keeper_socket, -1))
    if (all.conclave_ended() && all.command_ended()) ::_exit(0);  // the session then ends
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
  enum class verdict { none, lost } outcome = verdict::none;
  session_keeper keeper;
  watched_processes all{page.command};
  while (all.wait(-1, 0), !all.command_ended() && outcome == verdict::none) {
    if (!keeper.broken()) {
      all.wait(keeper.descriptor(), -1);
      deadline = now() + timeout * 3 / 4;
      continue;
    }
    start_server();
    keeper = session_keeper{socket, page.key, 1s};
    if (keeper.state() == session_keeper::result::attached) continue;
    if (keeper.state() == session_keeper::result::session_expired || now() > deadline)
      outcome = verdict::lost;
    else
      all.wait(-1, 20);
  }
  if (outcome == verdict::lost) {
    page.killed = true;
    // Does not use kill_command(). If conclave was killed, init may have reaped the command, and
    // the id of its group may belong to another process.
    all.kill_group(page.group);
    while (!descendants::kill_all(command_pipe, page.group)) all.wait(-1, 1000);
    return ok;
  }
  // The guard must not exit before conclave has ended.
  while (!all.conclave_ended()) all.wait(-1, -1);
  deadline = now() + timeout * 3 / 4;
  start_server();
  session_keeper::bind_session(socket, page.key, 1s);
  return ok;
}

}  // namespace conclave::cli
