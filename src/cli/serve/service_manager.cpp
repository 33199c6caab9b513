#include "cli/serve/service_manager.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace conclave::cli {
namespace {

constexpr int first_listening_socket = 3;  // SD_LISTEN_FDS_START

int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return 0;
  int number = 0;
  const auto* const end = text + std::strlen(text);
  const auto [rest, ec] = std::from_chars(text, end, number);
  return ec == std::errc{} && rest == end ? number : 0;
}

}  // namespace

std::vector<int> take_listening_sockets() {
  // The variables may have been inherited from a process for which they were meant.
  const bool meant_for_us = number_in("LISTEN_PID") == ::getpid();
  const int count = meant_for_us ? number_in("LISTEN_FDS") : 0;
  for (const auto* variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(variable);
  std::vector<int> sockets;
  for (int i = 0; i < count; ++i) {
    const int fd = first_listening_socket + i;
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) break;  // there are fewer than announced
    sockets.push_back(fd);
  }
  return sockets;
}

bool notify_service_manager(std::string_view state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || *path == '\0') return true;
  const auto length = std::strlen(path);
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if ((*path != '/' && *path != '@') || length >= sizeof to.sun_path) {
    errno = EAFNOSUPPORT;
    return false;
  }
  std::memcpy(to.sun_path, path, length);
  if (*path == '@') to.sun_path[0] = '\0';  // an abstract address
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const auto sent = ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&to), size);
  const int code = errno;
  ::close(fd);
  errno = code;
  return sent == static_cast<ssize_t>(state.size());
}

}  // namespace conclave::cli
