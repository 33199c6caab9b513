#include "bytes_on_wire.hpp"

// The kernel's struct tcp_info: that of the C library lacks the counters of bytes, and Asio
// includes it, so this file includes nothing of Asio.
#include <arpa/inet.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace conclave::bench {
namespace {

// Java uses IPv6 sockets for IPv4 addresses, too. Both kinds have the port at the same place.
bool is_connected_to(int fd, std::uint16_t port) {
  sockaddr_in6 peer{};
  socklen_t length = sizeof peer;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
         (peer.sin6_family == AF_INET || peer.sin6_family == AF_INET6) &&
         ntohs(peer.sin6_port) == port;
}

// 0 if this is no such connection.
std::uint64_t bytes_of(int fd, std::uint16_t port) {
  if (!is_connected_to(fd, port)) return 0;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
  return info.tcpi_bytes_acked + info.tcpi_bytes_received;
}

bool names_socket(const std::filesystem::path& descriptor) {
  std::error_code closed;
  return std::filesystem::read_symlink(descriptor, closed).string().starts_with("socket:");
}

int number_of(const std::filesystem::path& descriptor) {
  return std::stoi(descriptor.filename().string());
}

}  // namespace

std::uint64_t bytes_on_wire(std::uint16_t port) {
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    if (names_socket(entry.path())) sum += bytes_of(number_of(entry.path()), port);
  return sum;
}

// Duplicates the descriptors of the other process.
std::uint64_t bytes_on_wire(std::uint16_t port, pid_t process) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (handle < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open");
  std::uint64_t sum = 0;
  const auto folder = "/proc/" + std::to_string(process) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!names_socket(entry.path())) continue;
    const int fd = static_cast<int>(::syscall(SYS_pidfd_getfd, handle, number_of(entry.path()), 0));
    if (fd < 0) continue;
    sum += bytes_of(fd, port);
    ::close(fd);
  }
  ::close(handle);
  return sum;
}

}  // namespace conclave::bench
