#include "cli/run/descendants.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "cli/exit_code.hpp"

namespace conclave::cli {
namespace {

constexpr std::chrono::milliseconds longest_kill{1000};

// This is above the numbers that scripts use, and below 64, as in session_keeper.
constexpr int first_inherited_number = 48;

// Returns true if /proc/PID/fdinfo/N describes a descriptor that is open for writing.
bool is_open_for_writing(const std::filesystem::path& info) {
  std::ifstream in{info};
  for (std::string name, value; in >> name >> value;)
    if (name == "flags:") return (std::stoul(value, nullptr, 8) & O_ACCMODE) != O_RDONLY;
  return false;
}

[[noreturn]] void cannot_create(int why) {
  throw failure{system_failure, std::string{"cannot create a pipe: "} + std::strerror(why)};
}

bool has_open(const std::filesystem::path& process, const std::string& pipe) {
  std::error_code ec;
  for (const auto& fd : std::filesystem::directory_iterator{process / "fd", ec})
    if (std::error_code gone; std::filesystem::read_symlink(fd.path(), gone).string() == pipe &&
                              is_open_for_writing(process / "fdinfo" / fd.path().filename()))
      return true;
  return false;
}

// Calls f(pid) for each process that has the write end of this pipe open. f is called at once,
// because the process id may soon be reused.
template <class F>
void for_each_visible(int watched, F f) {
  struct stat found {};
  if (::fstat(watched, &found) != 0) return;
  const auto pipe = "pipe:[" + std::to_string(found.st_ino) + "]";
  std::error_code ec;
  for (const auto& process : std::filesystem::directory_iterator{"/proc", ec}) {
    const auto name = process.path().filename().string();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc{} || *end != '\0' || pid == ::getpid()) continue;
    if (has_open(process.path(), pipe)) f(pid);
  }
}

}  // namespace

descendants::descendants() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) cannot_create(errno);
  reading_ = ends[0];
  writing_ = ::fcntl(ends[1], F_DUPFD_CLOEXEC, first_inherited_number);
  if (writing_ < 0)  // the number exceeds the limit on open files
    writing_ = ::fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int why = errno;
  ::close(ends[1]);
  if (writing_ >= 0) return;
  ::close(reading_);
  cannot_create(why);
}

descendants::~descendants() {
  ::close(reading_);
  close_own_end();
}

void descendants::close_own_end() noexcept {
  if (const int fd = std::exchange(writing_, -1); fd >= 0) ::close(fd);
}

bool descendants::alive(int watched) noexcept {
  pollfd p{watched, 0, 0};
  return ::poll(&p, 1, 0) == 0;
}

std::vector<pid_t> descendants::visible(int watched) {
  std::vector<pid_t> all;
  for_each_visible(watched, [&](pid_t pid) { all.push_back(pid); });
  return all;
}

bool descendants::kill_all(int watched, pid_t group) {
  // The search may miss a process that is just forking, so repeat it until no process is found. A
  // killed process that waits for a disk ends only after the disk has answered, so do not wait for
  // it.
  const auto until = std::chrono::steady_clock::now() + longest_kill;
  for (int pause = 1; alive(watched); pause = std::min(2 * pause, 20)) {  // in milliseconds
    if (std::chrono::steady_clock::now() >= until) return false;
    bool killed = false;
    for_each_visible(watched, [&](pid_t pid) {
      // While one of these processes is in the group, the id of the group cannot be reused.
      if (group != 0 && ::getpgid(pid) == group) ::kill(-group, SIGKILL);
      if (::kill(pid, SIGKILL) == 0) killed = true;
    });
    if (!killed) return true;
    pollfd ended{watched, 0, 0};
    ::poll(&ended, 1, pause);  // a killed process needs a moment
  }
  return true;
}

}  // namespace conclave::cli
