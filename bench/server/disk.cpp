#include "disk.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "harness/spread.hpp"

namespace conclave::bench {
namespace {

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

// Of the mount whose path is the longest that the folder begins with.
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

std::string file_system_of(const std::filesystem::path& folder) {
  struct statfs status {};
  check(::statfs(folder.c_str(), &status) == 0, "statfs");
  if (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC)
    throw std::runtime_error(folder.string() + " is in memory: give a --folder on a disk");
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
