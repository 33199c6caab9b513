#include "affinity.hpp"

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace conclave::bench {
namespace {

void check(int result, const char* what) {
  if (result != 0) throw std::system_error(errno, std::generic_category(), what);
}

cpu_set_t only(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return set;
}

// A thread that ends meanwhile is no error.
void set_all_threads(pid_t pid, const cpu_set_t& set) {
  std::error_code gone;
  const auto tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, gone))
    ::sched_setaffinity(std::stoi(task.path().filename().string()), sizeof set, &set);
}

}  // namespace

int last_allowed_cpu() {
  cpu_set_t set;
  check(::sched_getaffinity(0, sizeof set, &set), "sched_getaffinity");
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) return cpu;
  throw std::runtime_error("no core is allowed");
}

void pin_this_process(int cpu) {
  const auto set = only(cpu);
  check(::sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
}

pinned_process::pinned_process(pid_t pid, int cpu) : pid_(pid) {
  check(::sched_getaffinity(pid, sizeof before_, &before_), "sched_getaffinity");
  set_all_threads(pid, only(cpu));
  set_all_threads(pid, only(cpu));  // threads that were made during the first pass
}

pinned_process::~pinned_process() {
  set_all_threads(pid_, before_);
  set_all_threads(pid_, before_);
}

}  // namespace conclave::bench
