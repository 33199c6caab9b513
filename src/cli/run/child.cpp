#include "cli/run/child.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/run/signals.hpp"

namespace conclave::cli {
namespace {

// Returns a file with this text. A pipe would need a thread that writes to it.
int file_with(const std::string& text) {
  const int fd = ::memfd_create("input", MFD_CLOEXEC);
  std::size_t done = 0;
  while (fd >= 0 && done < text.size()) {
    const auto n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0) break;
    done += static_cast<std::size_t>(n);
  }
  if (fd < 0 || done < text.size()) {
    const int why = errno;
    if (fd >= 0) ::close(fd);
    throw failure{system_failure,
                  std::string{"cannot create the input of the command: "} + std::strerror(why)};
  }
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

// The arguments of execvpe(), prepared before the fork.
class exec_block {
 public:
  explicit exec_block(const program& p) {
    for (const auto& a : p.arguments) arguments_.push_back(const_cast<char*>(a.c_str()));
    arguments_.push_back(nullptr);
    for (const auto& [name, value] : p.environment) added_.push_back(name + "=" + value);
    for (char** e = environ; *e != nullptr; ++e)
      if (!replaced(*e, p)) environment_.push_back(*e);
    for (auto& a : added_) environment_.push_back(a.data());
    environment_.push_back(nullptr);
  }
  char** arguments() { return arguments_.data(); }
  char** environment() { return environment_.data(); }

 private:
  static bool replaced(const char* entry, const program& p) {
    for (const auto& [name, value] : p.environment)
      if (std::strncmp(entry, name.c_str(), name.size()) == 0 && entry[name.size()] == '=')
        return true;
    return false;
  }
  std::vector<char*> arguments_, environment_;
  std::vector<std::string> added_;
};

// Uses vfork: the child shares our memory, and this thread is suspended until the child has called
// exec. Copying our memory map would take longer than everything else here.
[[gnu::noinline]] pid_t start(exec_block& block, const child::start_options& t, int input,
                              volatile int& why) {
  char** const arguments = block.arguments();
  char** const environment = block.environment();
  const pid_t parent = ::getpid();
  const pid_t pid = ::vfork();
  if (pid < 0) why = errno;
  if (pid != 0) return pid;
  ::setpgid(0, 0);
  if (const int error = t.guard.command_starts(); error != 0) {
    why = error;
    ::_exit(not_found);
  }
  if (t.dies_with_parent && (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent))
    ::_exit(not_found);  // our process has died already
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  // Ignoring these signals discards a pending Ctrl-Z. Otherwise it would stop the child before
  // exec, and vfork would suspend us as long as the child is stopped.
  for (const int s : {SIGTSTP, SIGTTIN, SIGTTOU})
    if (::signal(s, SIG_IGN) != SIG_IGN) ::signal(s, SIG_DFL);
  restore_file_size_signal();
  ::sigprocmask(SIG_SETMASK, &t.signal_mask, nullptr);
  for (const int fd : t.inherited) ::fcntl(fd, F_SETFD, 0);  // affects the child process only
  ::execvpe(arguments[0], arguments, environment);
  why = errno;
  ::_exit(not_found);
}

int code_of_failed_start(int error) {
  switch (error) {
    case ENOENT: return not_found;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return system_failure;
    default: return not_executable;
  }
}

// Returns true if the process with this folder in /proc is in the group and has not ended.
bool is_running_in(const std::filesystem::path& process, pid_t group) {
  std::ifstream in{process / "stat"};
  std::string text;
  std::getline(in, text, '\0');
  // The name, in parentheses, may contain anything.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream rest{text.substr(name_end + 1)};
  char state = 0;
  pid_t parent = 0, its_group = 0;
  return rest >> state >> parent >> its_group && its_group == group && state != 'Z' && state != 'X';
}

}  // namespace

program shell(const std::string& line) { return {{"/bin/sh", "-c", line}, {}, {}}; }

void require_executable(const program& p) {
  const auto& name = p.arguments.front();
  int why = ENOENT;
  const auto is_executable = [&](const std::string& file) {
    if (std::error_code ignored; std::filesystem::is_directory(file, ignored))
      why = EACCES;
    else if (::access(file.c_str(), X_OK) == 0)
      return true;
    else if (errno != ENOENT && errno != ENOTDIR)
      why = errno;
    return false;
  };
  if (name.find('/') != std::string::npos) {
    if (is_executable(name)) return;
  } else {
    const char* const path = std::getenv("PATH");
    // The colon at the end makes getline() also return an empty last entry, which is this folder.
    std::istringstream folders{std::string{path != nullptr ? path : "/bin:/usr/bin"} + ':'};
    for (std::string folder; std::getline(folders, folder, ':');)
      if (is_executable((folder.empty() ? "." : folder) + '/' + name)) return;
  }
  throw failure{code_of_failed_start(why), "cannot run '" + name + "': " + std::strerror(why)};
}

void require_room_for_input() {
  // The default limit of clients and servers on a request, and so on the data of a node.
  constexpr rlim_t longest_input = rlim_t{1024} * 1024;
  rlimit file_size{};
  if (::getrlimit(RLIMIT_FSIZE, &file_size) != 0 || file_size.rlim_cur >= longest_input) return;
  throw failure{system_failure,
                "the limit on file sizes is too low for the input of the command; raise it to at "
                "least 1 MiB: ulimit -f 1024"};
}

child::child(const program& p, const start_options& t) {
  exec_block block{p};
  const int input = p.input ? file_with(*p.input) : -1;
  int why = 0;
  pid_ = start(block, t, input, why);
  if (input >= 0) ::close(input);
  if (pid_ < 0)
    throw failure{system_failure,
                  "cannot run '" + p.arguments.front() + "': fork failed: " + std::strerror(why)};
  if (why != 0) {
    ::waitpid(pid_, nullptr, 0);
    throw failure{code_of_failed_start(why),
                  "cannot run '" + p.arguments.front() + "': " + std::strerror(why)};
  }
}

child::delivery child::signal(int s) const noexcept {
  if (pid_ == 0) return delivery::sent;
  ::kill(-pid_, s);
  return may_not_signal() ? delivery::refused : delivery::sent;
}

bool child::may_not_signal() const noexcept {
  if (::kill(pid_, 0) == 0 || errno != EPERM) return false;
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
  return ended.si_pid == 0;
}

std::vector<pid_t> child::out_of_reach() const {
  std::vector<pid_t> found;
  if (pid_ == 0) return found;
  // This does not use /proc, which may hide the processes of other users.
  if (may_not_signal()) found.push_back(pid_);
  std::error_code ec;
  for (const auto& process : std::filesystem::directory_iterator{"/proc", ec}) {
    const auto name = process.path().filename().string();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc{} || *end != '\0' || pid == pid_) continue;
    if (is_running_in(process.path(), pid_) && ::kill(pid, 0) != 0 && errno == EPERM)
      found.push_back(pid);
  }
  return found;
}

child::change child::poll_change() const {
  siginfo_t info{};
  // WNOWAIT leaves an ended child as a zombie for reap().
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) !=
          0 ||
      info.si_pid == 0)
    return {};
  if (info.si_code != CLD_STOPPED) return {change::kind::ended, 0};
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG);
  return {change::kind::stopped, info.si_status};
}

int child::reap() {
  int status = 0;
  const auto pid = std::exchange(pid_, 0);
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace conclave::cli
