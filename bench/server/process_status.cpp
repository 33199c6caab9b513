#include "process_status.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace conclave::bench {
namespace {

std::ifstream open_status(pid_t pid, const char* name) {
  return std::ifstream("/proc/" + std::to_string(pid) + '/' + name);
}

double ticks_to_us(double ticks) {
  return ticks * 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

double cpu_us_of(pid_t pid) {
  auto file = open_status(pid, "stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream words(line.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field <= 13; ++field) words >> skipped;
  double user_ticks = 0;
  double system_ticks = 0;
  words >> user_ticks >> system_ticks;
  return ticks_to_us(user_ticks + system_ticks);
}

// "cpu0 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ ...", and "cpu ..." for all of them
double busy_us(std::optional<int> cpu) {
  const auto wanted = cpu ? "cpu" + std::to_string(*cpu) : std::string("cpu");
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name != wanted) continue;
    double user = 0;
    double nice = 0;
    double system = 0;
    double idle = 0;
    double waiting = 0;
    double interrupts = 0;
    double soft_interrupts = 0;
    words >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts;
    return ticks_to_us(user + nice + system + interrupts + soft_interrupts);
  }
  return 0;
}

double resident_kib_of(pid_t pid) {
  auto file = open_status(pid, "status");
  const std::string name = "VmRSS:";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return std::stod(line.substr(name.size()));
  throw std::runtime_error("process " + std::to_string(pid) + " is gone");
}

}  // namespace conclave::bench
