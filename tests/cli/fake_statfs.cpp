// Preloaded into the program by a test: statfs() reports the type of file system in the environment
// variable FAKE_STATFS_TYPE, because a test cannot mount network file systems.
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>

extern "C" int statfs(const char* path, struct statfs* found) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_statfs, path, found));
  if (const char* const type = std::getenv("FAKE_STATFS_TYPE"); type != nullptr)
    found->f_type = static_cast<decltype(found->f_type)>(std::strtoul(type, nullptr, 16));
  return result;
}
