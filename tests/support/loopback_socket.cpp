#include "loopback_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "frames.hpp"

namespace conclave::testing {
namespace {

constexpr std::size_t largest_frame = 64U << 20;

[[noreturn]] void throw_ended(const char* operation, int error) {
  throw connection_ended(std::string(operation) + ": " + std::strerror(error));
}

bool would_block(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

loopback_socket loopback_socket::connect(std::uint16_t port, milliseconds timeout) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw_ended("socket", errno);
  loopback_socket result(fd);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINPROGRESS) throw_ended("connect", errno);
    result.wait_for(POLLOUT, clock::now() + timeout);
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) throw_ended("connect", error);
  }
  return result;
}

loopback_socket::loopback_socket(int fd) : fd_(fd) {
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

loopback_socket::~loopback_socket() { close(); }

loopback_socket::loopback_socket(loopback_socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), stop_fd_(other.stop_fd_) {}

void loopback_socket::send(std::string_view bytes, milliseconds timeout) {
  const auto deadline = clock::now() + timeout;
  while (!bytes.empty()) {
    wait_for(POLLOUT, deadline);
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (!would_block(errno)) {
      throw_ended("send", errno);
    }
  }
}

void loopback_socket::send_frame(std::string_view payload, milliseconds timeout) {
  send(framed(payload), timeout);
}

std::string loopback_socket::receive_some(std::size_t at_most, clock::time_point deadline) {
  char buffer[16384];
  for (;;) {
    wait_for(POLLIN, deadline);
    const ssize_t received = ::recv(fd_, buffer, std::min(at_most, sizeof buffer), 0);
    if (received >= 0) return std::string(buffer, static_cast<std::size_t>(received));
    if (!would_block(errno)) throw_ended("receive", errno);
  }
}

std::string loopback_socket::receive(std::size_t count, milliseconds timeout) {
  const auto deadline = clock::now() + timeout;
  std::string bytes;
  while (bytes.size() < count) {
    const std::string piece = receive_some(count - bytes.size(), deadline);
    if (piece.empty()) throw connection_ended("receive: the peer closed the connection");
    bytes += piece;
  }
  return bytes;
}

std::string loopback_socket::receive_frame(milliseconds timeout) {
  const auto deadline = clock::now() + timeout;
  const auto size = static_cast<std::uint32_t>(int32_at(receive(4, timeout), 0));
  if (size > largest_frame)
    throw connection_ended("receive: impossible frame length " + std::to_string(size));
  return receive(size, std::chrono::ceil<milliseconds>(deadline - clock::now()));
}

std::string loopback_socket::receive_until_end(milliseconds timeout) {
  const auto deadline = clock::now() + timeout;
  std::string bytes;
  for (;;) {
    const std::string piece = receive_some(static_cast<std::size_t>(-1), deadline);
    if (piece.empty()) return bytes;
    bytes += piece;
  }
}

void loopback_socket::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void loopback_socket::reset() noexcept {
  if (fd_ < 0) return;
  const linger at_once{1, 0};  // closing with a linger time of 0 sends RST
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

void loopback_socket::wait_for(short events, clock::time_point deadline) {
  if (fd_ < 0) throw connection_ended("the connection was closed here");
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
    pollfd watched[2] = {{fd_, events, 0}, {stop_fd_, POLLIN, 0}};  // poll skips a descriptor of -1
    const int ready =
        ::poll(watched, 2, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready < 0 && errno != EINTR) throw_ended("poll", errno);
    if (ready > 0 && watched[1].revents != 0) throw connection_ended("stopped");
    if (ready > 0) return;
    if (left <= 0) throw timed_out("no progress on the connection within the time limit");
  }
}

}  // namespace conclave::testing
