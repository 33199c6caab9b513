#include "chaos/fenced_store.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace conclave::chaos {
namespace {

// Both ends are on one machine, so messages are sent as they are in memory.
struct request {
  std::int64_t token = 0;  // 0: only read the highest token
  std::array<char, 120> resource{};
};
struct reply {
  std::int64_t highest = 0;
  std::int64_t done = 0;
};

void check(bool ok, const char* what) {
  if (!ok) throw std::system_error{errno, std::generic_category(), what};
}

sockaddr_un address_of(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto text = socket.string();
  if (text.size() >= sizeof address.sun_path) throw std::length_error{"too long: " + text};
  std::memcpy(address.sun_path, text.c_str(), text.size());
  return address;
}

reply ask(int socket, const std::string& resource, std::int64_t token) {
  request q;
  q.token = token;
  if (resource.size() >= q.resource.size()) throw std::length_error{"too long: " + resource};
  std::memcpy(q.resource.data(), resource.c_str(), resource.size());
  check(::send(socket, &q, sizeof q, MSG_NOSIGNAL) == sizeof q, "the store");
  reply r;
  ssize_t size = 0;
  do size = ::recv(socket, &r, sizeof r, 0);
  while (size < 0 && errno == EINTR);
  check(size == sizeof r, "the store");
  return r;
}

}  // namespace

// SOCK_SEQPACKET preserves message boundaries and fails at once when the peer is gone.
fenced_store::fenced_store(const std::filesystem::path& socket)
    : listener_{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)} {
  check(listener_ >= 0, "socket");
  const auto address = address_of(socket);
  check(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
            ::listen(listener_, 64) == 0 && ::pipe2(stop_, O_CLOEXEC) == 0,
        "the store's socket");
  thread_ = std::thread{[this] { serve(); }};
}

fenced_store::~fenced_store() {
  ::close(stop_[1]);
  thread_.join();
  ::close(stop_[0]);
  ::close(listener_);
}

void fenced_store::serve() {
  std::vector<pollfd> polled{{stop_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
  for (;;) {
    ::poll(polled.data(), polled.size(), -1);
    if (polled[0].revents != 0) break;
    for (std::size_t i = 2; i < polled.size(); ++i)
      if (polled[i].revents != 0 && !answer(polled[i].fd)) {
        ::close(polled[i].fd);
        polled[i].fd = -1;
      }
    std::erase_if(polled, [](const pollfd& p) { return p.fd < 0; });
    if (polled[1].revents != 0)
      if (const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
          connection >= 0)
        polled.push_back({connection, POLLIN, 0});
  }
  for (std::size_t i = 2; i < polled.size(); ++i) ::close(polled[i].fd);
}

bool fenced_store::answer(int connection) {
  request q;
  if (::recv(connection, &q, sizeof q, 0) != sizeof q) return false;
  auto& resource = resources_[q.resource.data()];
  reply r;
  if (q.token != 0) r.done = resource.write(q.token) ? 1 : 0;
  r.highest = resource.highest();
  // Never blocks on a stopped process. It has at most one request pending, so the reply fits into
  // the socket buffer.
  return ::send(connection, &r, sizeof r, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof r;
}

fenced_store_link::fenced_store_link(const std::filesystem::path& socket)
    : socket_{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)} {
  check(socket_ >= 0, "socket");
  const auto address = address_of(socket);
  check(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
        "connecting to the store");
}

fenced_store_link::~fenced_store_link() { ::close(socket_); }

bool fenced_store_link::write(const std::string& resource, std::int64_t token) {
  return ask(socket_, resource, token).done != 0;
}

std::int64_t fenced_store_link::highest(const std::string& resource) {
  return ask(socket_, resource, 0).highest;
}

}  // namespace conclave::chaos
