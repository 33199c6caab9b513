#include "listen_on_loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "free_port.hpp"

namespace conclave::testing {

std::pair<int, std::uint16_t> listen_on_loopback() {
  for (int attempt = 1;; ++attempt) {
    const std::uint16_t port = free_port();
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // Lets a listener that was shut down listen again while old connections to its port linger.
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(fd, SOMAXCONN) == 0) {
      return {fd, port};
    }
    const int error = errno;
    ::close(fd);
    if (error != EADDRINUSE || attempt == 20) {
      throw std::system_error(error, std::generic_category(),
                              "cannot listen on 127.0.0.1:" + std::to_string(port));
    }
  }
}

}  // namespace conclave::testing
