#include "cli/connect/local_server.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "cli/connect/clean_process.hpp"
#include "cli/exit_code.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

// This is long enough for a job that runs every few minutes to find a running server.
constexpr auto idle_exit = "15m";

// Returns the exit code for a system call that failed while a server is contacted or started.
int code_for(int error_number) { return is_shortage(error_number) ? system_failure : unavailable; }

class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int fd) : fd_{fd} {}
  descriptor(descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

descriptor connect_to(const std::filesystem::path& socket) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (socket.string().size() >= sizeof at.sun_path)
    throw failure{
        unavailable,
        "'" + socket.string() +
            "' is too long for the path of a socket; set CONCLAVE_LOCAL to a shorter folder"};
  std::memcpy(at.sun_path, socket.c_str(), socket.string().size());
  descriptor s{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!s)
    throw failure{system_failure, std::string{"cannot create a socket: "} + std::strerror(errno)};
  if (::connect(s.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return {};
  return s;
}

// The server's socket works on one machine only, and its file locks may do so, too. FUSE and 9p are
// missing here, because containers and virtual machines also use them for local folders.
struct file_system {
  unsigned long magic;
  const char* name;
};
constexpr std::array network_file_systems{
    file_system{NFS_SUPER_MAGIC, "NFS"}, file_system{SMB_SUPER_MAGIC, "SMB"},
    file_system{0xFF534D42, "SMB"},      file_system{0xFE534D42, "SMB"},
    file_system{AFS_SUPER_MAGIC, "AFS"}, file_system{0x6B414653, "AFS"},
    file_system{0x00C36400, "CephFS"},   file_system{0x0BD00BD0, "Lustre"},
    file_system{0x47504653, "GPFS"},     file_system{0x19830326, "BeeGFS"},
    file_system{0x01161970, "GFS2"},     file_system{0x7461636F, "OCFS2"},
    file_system{0x786F4256, "vboxsf"},
};

void refuse_network_file_system(const std::filesystem::path& folder) {
  struct statfs found {};
  if (::statfs(folder.c_str(), &found) != 0) return;
  for (const auto& [magic, name] : network_file_systems)
    if (static_cast<unsigned long>(found.f_type) == magic)
      throw failure{unavailable, folder.string() + " is on a network file system (" + name +
                                     "); set CONCLAVE_LOCAL to a folder on this machine"};
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code ec;
  std::filesystem::create_directories(folder.parent_path(), ec);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw failure{unavailable, "cannot create " + folder.string() +
                                   " for this user's own server: " + std::strerror(errno) +
                                   "; set CONCLAVE_LOCAL to another folder, or CONCLAVE_CONNECT "
                                   "to a server"};
  refuse_network_file_system(folder);
}

constexpr auto use_another_folder =
    "; set CONCLAVE_LOCAL to another folder, or CONCLAVE_CONNECT to a server";

[[noreturn]] void throw_not_ours(const std::filesystem::path& what, uid_t owner) {
  throw failure{unavailable, what.string() + " belongs to user " + std::to_string(owner) +
                                 ", but this command runs as user " + std::to_string(::geteuid()) +
                                 use_another_folder};
}

// Returns true if a server answers there and runs as this user.
bool own_server_answers(const std::filesystem::path& socket) {
  const auto s = connect_to(socket);
  if (!s) return false;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(s.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (peer.uid != ::geteuid()) throw_not_ours("the server at " + socket.string(), peer.uid);
  return true;
}

// Runs in the child process: becomes the server and reports the result through the pipe. Inherits
// nothing else.
[[noreturn]] void become_server(const std::string& folder, int report) {
  ::setsid();  // detaches the server from the signals of our terminal
  if (::fork() != 0) ::_exit(0);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(report, STDOUT_FILENO);
  ::dup2(report, STDERR_FILENO);
  // Otherwise $(conclave ...) would wait until the server closes its pipe.
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  auto why = reset_inherited_state();
  if (why.empty()) {
    auto environment = clean_environment(folder);
    std::vector<char*> variables;
    for (auto& v : environment) variables.push_back(v.data());
    variables.push_back(nullptr);
    const std::string log = folder + "/log";
    ::execle("/proc/self/exe", "conclave", "serve", "--data", folder.c_str(), "--idle-exit",
             idle_exit, "--log", log.c_str(), nullptr, variables.data());
    why = std::string{"cannot execute /proc/self/exe: "} + std::strerror(errno);
  }
  why = "conclave: " + why;
  ::_exit(::write(STDERR_FILENO, why.data(), why.size()) < 0 ? 1 : 1);
}

using deadline = std::chrono::steady_clock::time_point;

int left_ms(deadline until) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

[[noreturn]] void cannot_start(int why) {
  throw failure{code_for(why),
                std::string{"cannot start this user's own server: "} + std::strerror(why)};
}

// Waits until the server is ready or has exited, or the deadline passes. Returns the server's
// output.
std::string start_server(const std::string& folder, deadline until) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) cannot_start(errno);
  const descriptor reading{ends[0]};
  descriptor writing{ends[1]};
  const pid_t child = ::fork();
  if (child < 0) cannot_start(errno);
  if (child == 0) become_server(folder, writing.get());
  writing = descriptor{};
  ::waitpid(child, nullptr, 0);
  std::string output;
  std::array<char, 1024> buffer{};
  while (output.find("conclave ready:") == std::string::npos) {
    pollfd p{reading.get(), POLLIN, 0};
    const int ready = ::poll(&p, 1, left_ms(until));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return "it did not answer in time";
    const auto n = ::read(reading.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    output.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return output;
}

}  // namespace

bool server_answers(const std::filesystem::path& socket) {
  return static_cast<bool>(connect_to(socket));
}

std::optional<server_process> server_process::at(const std::filesystem::path& socket) {
  const auto s = connect_to(socket);
  if (!s) return {};
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(s.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0));
  if (fd < 0) return {};
  return server_process{peer.pid, fd};
}

server_process::server_process(server_process&& other) noexcept
    : pid_{other.pid_}, descriptor_{std::exchange(other.descriptor_, -1)} {}

server_process::~server_process() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool server_process::ended(std::chrono::milliseconds limit) const {
  pollfd p{descriptor_, POLLIN, 0};
  return ::poll(&p, 1, static_cast<int>(limit.count())) > 0;
}

bool server_process::end(std::chrono::milliseconds limit) const {
  ::syscall(SYS_pidfd_send_signal, descriptor_, SIGTERM, nullptr, 0);
  return ended(limit);
}

void require_own_folder(const std::filesystem::path& folder) {
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0) return;
  if (S_ISLNK(found.st_mode))
    throw failure{unavailable, folder.string() + " is a symbolic link" + use_another_folder};
  if (!S_ISDIR(found.st_mode)) return;
  if (found.st_uid != ::geteuid()) throw_not_ours(folder, found.st_uid);
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw failure{unavailable, "other users can write to " + folder.string() +
                                   "; try: chmod go-w " + folder.string()};
}

void ensure_local_server(const std::filesystem::path& folder, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  const auto socket = folder / "socket";
  require_own_folder(folder);
  if (own_server_answers(socket)) return;
  make_folder(folder);
  require_own_folder(folder);
  const auto lock_file = folder / "start.lock";
  const descriptor start_lock{
      ::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!start_lock) {
    const int why = errno;
    throw failure{code_for(why), "cannot write " + lock_file.string() + ": " + std::strerror(why) +
                                     (is_shortage(why) ? "" : use_another_folder)};
  }
  struct stat found {};
  if (::fstat(start_lock.get(), &found) == 0 && found.st_uid != ::geteuid())
    throw_not_ours(lock_file, found.st_uid);
  // One process starts the server. The others wait here until the server answers or the deadline
  // passes, because the first one may be stopped.
  while (::flock(start_lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      throw failure{unavailable, lock_file.string() + ": " + std::strerror(errno)};
    if (own_server_answers(socket)) return;
    if (std::chrono::steady_clock::now() >= until)
      throw failure{unavailable,
                    "another command is starting this user's own server and has not finished in "
                    "time; check whether that command is stopped"};
    std::this_thread::sleep_for(10ms);
  }
  std::string output;
  for (;;) {
    if (own_server_answers(socket)) return;
    output = start_server(folder.string(), until);
    if (output.find("conclave ready:") != std::string::npos) return;
    // A server that is exiting does not answer any more but still locks its file.
    if (output.find("is in use") == std::string::npos || std::chrono::steady_clock::now() > until)
      break;
    std::this_thread::sleep_for(10ms);
  }
  auto why = output.substr(0, output.find('\n'));
  if (const auto prefix = why.find("conclave: "); prefix == 0) why.erase(0, 10);
  throw failure{unavailable, "this user's own server does not start: " +
                                 (why.empty() ? std::string{"it exited without a message"} : why)};
}

}  // namespace conclave::cli
