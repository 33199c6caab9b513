#include "base/process_binding.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace conclave {
namespace {

class fnv1a {
 public:
  void add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) state_ = (state_ ^ bytes[i]) * 0x100000001b3u;
  }
  void add(std::uint64_t number) { add(&number, sizeof number); }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

}  // namespace

// The namespace is read on each call, because a child of fork() may be in another pid namespace.
std::int32_t process_binding(pid_t server, pid_t client) {
  if (server <= 0 || client <= 0) return 0;
  std::array<char, 36> boot{};  // a UUID
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const auto size = ::read(fd, boot.data(), boot.size());
  ::close(fd);
  struct stat pids {};
  if (size != static_cast<ssize_t>(boot.size()) || ::stat("/proc/self/ns/pid", &pids) != 0)
    return 0;

  fnv1a hash;
  hash.add(boot.data(), boot.size());
  hash.add(pids.st_dev);
  hash.add(pids.st_ino);
  hash.add(static_cast<std::uint64_t>(server));
  hash.add(static_cast<std::uint64_t>(client));
  const auto folded = hash.value() ^ (hash.value() >> 32);
  // Older servers send 1 without verification. 2 requests a connection that only keeps a session
  // (wire/keep_session.hpp).
  const auto number = static_cast<std::int32_t>(folded & 0x7fff'ffff);
  return number > 2 ? number : number + 3;
}

pid_t peer_process(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

}  // namespace conclave
