#include "child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>
#include <thread>

namespace conclave::testing {
namespace {

[[noreturn]] void throw_errno(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

// Everything the child needs, prepared before the fork: between fork and exec only
// async-signal-safe calls are allowed, because another thread may hold the allocator's lock.
struct launch {
  std::string program;
  std::vector<char*> argv;
  std::vector<char*> environment;
  const char* directory{nullptr};
  const char* output{nullptr};
  pid_t parent{0};
  int report{-1};  // the child writes errno here; exec closes it
};

[[noreturn]] void fail(const launch& plan) {
  const int error = errno;
  // Nothing can be done about a failed write: the parent then sees a child that exits with 127.
  [[maybe_unused]] const ssize_t written = ::write(plan.report, &error, sizeof error);
  ::_exit(127);
}

[[noreturn]] void run_child(const launch& plan) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(plan);
  if (::getppid() != plan.parent) ::_exit(127);  // the parent died before prctl took effect
  if (::setpgid(0, 0) != 0) fail(plan);

  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0 || ::dup2(null, 0) < 0) fail(plan);
  if (plan.output != nullptr) {
    const int file = ::open(plan.output, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0 || ::dup2(file, 1) < 0 || ::dup2(file, 2) < 0) fail(plan);
  }
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) fail(plan);
  // Marking instead of closing keeps the report pipe open until exec has succeeded.
  constexpr unsigned int close_range_cloexec = 1U << 2;
  if (::syscall(SYS_close_range, 3U, ~0U, close_range_cloexec) != 0) fail(plan);

  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  ::sigaction(SIGPIPE, &default_action, nullptr);  // ignored signals stay ignored through exec
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  ::execve(plan.program.c_str(), plan.argv.data(), plan.environment.data());
  fail(plan);
}

// The one thread that forks. It is never joined: it must outlive every other user.
class forker {
 public:
  static forker& instance() {
    static auto* const leaked = new forker;
    return *leaked;
  }

  pid_t fork(const launch& plan) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return plan_ == nullptr && !done_; });
    plan_ = &plan;
    changed_.notify_all();
    changed_.wait(lock, [this] { return done_; });
    done_ = false;
    const pid_t result = result_;
    const int error = error_;
    changed_.notify_all();
    lock.unlock();
    if (result < 0) throw_errno(error, "fork");
    return result;
  }

 private:
  forker() {
    std::thread([this] { loop(); }).detach();
  }

  void loop() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);  // signals are for the test's own threads
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return plan_ != nullptr; });
      result_ = ::fork();
      error_ = errno;
      if (result_ == 0) run_child(*plan_);
      plan_ = nullptr;
      done_ = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const launch* plan_{nullptr};
  bool done_{false};
  pid_t result_{-1};
  int error_{0};
};

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = folder.empty() ? "." : folder;
    candidate.append("/").append(name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw_errno(ENOENT, "no program '" + name + "' in PATH");
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (added.count(text.substr(0, text.find('='))) == 0) result.push_back(text);
  }
  for (const auto& [name, value] : added)
    result.push_back(std::string(name).append("=").append(value));
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (auto& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

child_process::child_process(const child_options& options) {
  if (options.argv.empty()) throw_errno(EINVAL, "child_process without a program");
  auto arguments = options.argv;
  auto environment = merged_environment(options.environment);
  launch plan;
  plan.program = find_program(options.argv.front());
  plan.argv = pointers_to(arguments);
  plan.environment = pointers_to(environment);
  if (!options.directory.empty()) plan.directory = options.directory.c_str();
  if (!options.output.empty()) plan.output = options.output.c_str();
  plan.parent = ::getpid();

  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) throw_errno(errno, "pipe2");
  plan.report = report[1];
  try {
    pid_ = forker::instance().fork(plan);
  } catch (...) {
    ::close(report[0]);
    ::close(report[1]);
    throw;
  }
  ::close(report[1]);
  ::setpgid(pid_, pid_);  // both sides do it, so that kill_group works from the first moment

  int error = 0;
  ssize_t received = 0;
  do received = ::read(report[0], &error, sizeof error);
  while (received < 0 && errno == EINTR);
  ::close(report[0]);
  if (received == 0) {
    pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0U));
    if (pidfd_ >= 0) return;
    error = errno;
    ::kill(-pid_, SIGKILL);
  }
  ::waitpid(pid_, nullptr, 0);
  throw_errno(error, "cannot run " + plan.program);
}

child_process::~child_process() {
  kill_group(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  ::close(pidfd_);
}

bool child_process::running() {
  const std::lock_guard lock(mutex_);
  return !look();
}

void child_process::kill(int signal) {
  ::kill(pid_, signal);  // never reaped before the destructor, so the number is still this child's
}

void child_process::kill_group(int signal) { ::kill(-pid_, signal); }

void child_process::pause() {
  const std::lock_guard lock(mutex_);
  ::kill(pid_, SIGSTOP);
  const auto id = static_cast<id_t>(pid_);
  siginfo_t info{};
  while (::waitid(P_PID, id, &info, WSTOPPED | WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  // The notice of the stop must be consumed, or the next pause() would return too early.
  if (info.si_code == CLD_STOPPED) ::waitid(P_PID, id, &info, WSTOPPED | WNOHANG);
}

void child_process::resume() { kill(SIGCONT); }

std::optional<exit_status> child_process::wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (auto status = look()) return status;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd ended{pidfd_, POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(left.count()));
  }
}

std::optional<exit_status> child_process::look() {
  if (status_) return status_;
  siginfo_t info{};
  // WNOWAIT leaves the zombie, and with it the process number, in place until the destructor.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  exit_status status;
  (info.si_code == CLD_EXITED ? status.code : status.signal) = info.si_status;
  status_ = status;
  return status_;
}

}  // namespace conclave::testing
