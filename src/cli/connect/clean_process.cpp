#include "cli/connect/clean_process.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace conclave::cli {
namespace {

struct resource_limit {
  __rlimit_resource_t resource;
  const char* flag;  // the flag of the shell's ulimit
  rlim_t unit;       // the unit of its argument
  rlim_t least;      // a server with a lower limit would fail or be killed
};
constexpr rlim_t kilobyte = 1024, megabyte = 1024 * kilobyte;
constexpr std::array limits{resource_limit{RLIMIT_CPU, "-t", 1, 3600},
                            resource_limit{RLIMIT_FSIZE, "-f", kilobyte, 1024 * megabyte},
                            resource_limit{RLIMIT_AS, "-v", kilobyte, 512 * megabyte},
                            resource_limit{RLIMIT_DATA, "-d", kilobyte, 256 * megabyte},
                            resource_limit{RLIMIT_NOFILE, "-n", 1, 128}};

std::string raise_limit(const resource_limit& l) {
  rlimit now{};
  if (::getrlimit(l.resource, &now) != 0) return {};
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};  // needs privileges; not used for descriptors
  if (l.resource == RLIMIT_NOFILE || ::setrlimit(l.resource, &none) != 0) {
    now.rlim_cur = now.rlim_max;
    ::setrlimit(l.resource, &now);
  } else {
    now = none;
  }
  if (now.rlim_max == RLIM_INFINITY || now.rlim_max >= l.least) return {};
  return std::string{"the caller's limit is too low for a server: ulimit "} + l.flag + " " +
         std::to_string(now.rlim_max / l.unit) +
         "; start a server without this limit: conclave serve --idle-exit 15m";
}

// All clients would wait for a server with a low priority. Without privileges, the priority cannot
// be changed.
void reset_priority() {
  ::setpriority(PRIO_PROCESS, 0, 0);
  const sched_param usual{};
  ::sched_setscheduler(0, SCHED_OTHER, &usual);
  constexpr int this_process = 1, no_priority_class = 0;  // IOPRIO_WHO_PROCESS, IOPRIO_CLASS_NONE
  ::syscall(SYS_ioprio_set, this_process, 0, no_priority_class);
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

std::string reset_inherited_state() {
  reset_signals();
  reset_priority();
  ::umask(077);
  if (::chdir("/") != 0)
    return std::string{"cannot change to the folder /: "} + std::strerror(errno);
  for (const auto& l : limits)
    if (auto why = raise_limit(l); !why.empty()) return why;
  return {};
}

std::vector<std::string> clean_environment(const std::string& folder) {
  std::vector<std::string> kept{"CONCLAVE_LOCAL=" + folder, "PATH=/usr/local/bin:/usr/bin:/bin"};
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text{*variable};
    const auto name = text.substr(0, text.find('='));
    if (name == "LD_LIBRARY_PATH" || name.ends_with("SAN_OPTIONS")) kept.emplace_back(text);
  }
  return kept;
}

}  // namespace conclave::cli
