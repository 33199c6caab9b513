#include "free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <stdexcept>

namespace conclave::testing {
namespace {

bool is_free(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::runtime_error("free_port: no socket to try ports with");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Without SO_REUSEADDR also ports with connections in TIME_WAIT are passed over.
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return bound;
}

}  // namespace

std::vector<std::uint16_t> free_ports(std::size_t count) {
  thread_local std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> any_port(12000, 31999);
  std::vector<std::uint16_t> ports;
  for (int attempt = 0; ports.size() < count; ++attempt) {
    if (attempt == 10000) throw std::runtime_error("free_port: no free loopback port found");
    const auto port = static_cast<std::uint16_t>(any_port(random));
    if (std::find(ports.begin(), ports.end(), port) == ports.end() && is_free(port))
      ports.push_back(port);
  }
  return ports;
}

std::uint16_t free_port() { return free_ports(1).front(); }

}  // namespace conclave::testing
