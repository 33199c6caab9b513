#include "driver/system_status.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "driver/results.hpp"

namespace conclave::bench {
namespace {

std::ifstream open_status(pid_t pid, const char* name) {
  return std::ifstream("/proc/" + std::to_string(pid) + '/' + name);
}

double ticks_to_us(double ticks) {
  return ticks * 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

constexpr std::size_t block = 512;
constexpr int flushes = 300;

void check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

class scratch_file {
 public:
  explicit scratch_file(const std::filesystem::path& path)
      : path_(path), fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    check(fd_ >= 0, "open");
  }
  ~scratch_file() {
    ::close(fd_);
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;

  void write(const std::vector<char>& data, std::size_t at) const {
    check(::pwrite(fd_, data.data(), data.size(), static_cast<off_t>(at)) ==
              static_cast<ssize_t>(data.size()),
          "pwrite");
  }
  void flush() const { check(::fdatasync(fd_) == 0, "fdatasync"); }

 private:
  std::filesystem::path path_;
  int fd_;
};

// Finds the mount with the longest path that is a prefix of the folder.
std::string mounted_type(const std::filesystem::path& folder) {
  std::ifstream mounts("/proc/self/mounts");
  std::string found = "unknown";
  std::size_t longest = 0;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device;
    std::string at;
    std::string type;
    words >> device >> at >> type;
    const bool inside = at == "/" || (folder.string() + '/').starts_with(at + '/');
    if (!inside || at.size() < longest) continue;
    longest = at.size();
    found = type + " on ";
    found += device;
  }
  return found;
}

}  // namespace

double cpu_us_of(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
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
  throw std::runtime_error("process " + std::to_string(pid) + " has ended");
}

std::string file_system_of(const std::filesystem::path& folder) {
  struct statfs status {};
  check(::statfs(folder.c_str(), &status) == 0, "statfs");
  if (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC)
    throw std::runtime_error(folder.string() + " is in memory; pass a --folder on a disk");
  return mounted_type(std::filesystem::canonical(folder));
}

double flush_us(const std::filesystem::path& folder) {
  using clock = std::chrono::steady_clock;
  const scratch_file file(folder / "flush");
  file.write(std::vector<char>(block * flushes), 0);
  file.flush();
  const std::vector<char> data(block, 'x');
  std::vector<double> times;
  for (int i = 0; i < flushes; ++i) {
    const auto before = clock::now();
    file.write(data, block * static_cast<std::size_t>(i));
    file.flush();
    times.push_back(std::chrono::duration<double, std::micro>(clock::now() - before).count());
  }
  std::sort(times.begin(), times.end());
  return quantile(times, 0.5);
}

}  // namespace conclave::bench
