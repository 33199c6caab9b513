#include "runtime/socket_link.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>

#include "base/process_binding.hpp"

namespace conclave::runtime {
namespace {

using boost::asio::ip::tcp;

error_code system_error(int value) { return {value, boost::system::system_category()}; }

// Use a number that scripts do not use, but below 64. The kernel's descriptor table has 64 entries
// at first, and enlarging it in a process with several threads takes 10 ms (an RCU grace period).
int moved_up(int fd) {
  constexpr int first_number = 48;
  const int moved = ::fcntl(fd, F_DUPFD, first_number);
  if (moved < 0) return fd;
  ::close(fd);
  return moved;
}

socket_link::transfer transferred(ssize_t n) {
  if (n >= 0) return {static_cast<std::size_t>(n), {}};
  return {0, system_error(errno == EAGAIN ? EWOULDBLOCK : errno)};
}

}  // namespace

void socket_link::connect(const endpoint& to, std::function<void(error_code)> done) {
  done_ = std::move(done);
  if (!to.socket_path.empty()) return connect_local(to.socket_path);
  // A numeric address needs no resolver, which would start a thread.
  boost::system::error_code not_a_number;
  const auto number = boost::asio::ip::make_address(to.host, not_a_number);
  if (!not_a_number) {
    addresses_.emplace_back(tcp::endpoint{number, to.port});
    return try_next(boost::asio::error::host_not_found);
  }
  resolver_.async_resolve(
      to.host, std::to_string(to.port),
      [self = shared_from_this()](boost::system::error_code ec,
                                  const tcp::resolver::results_type& found) {
        if (ec == boost::asio::error::operation_aborted) return;
        for (const auto& entry : found) self->addresses_.emplace_back(entry.endpoint());
        // Start with a different address each time. Otherwise an address that drops our packets
        // would use up the time for all addresses.
        thread_local std::minstd_rand random{std::random_device{}()};
        std::shuffle(self->addresses_.begin(), self->addresses_.end(), random);
        self->try_next(ec ? ec : error_code{boost::asio::error::host_not_found});
      });
}

void socket_link::connect_local(const std::string& path) {
  const address to{boost::asio::local::stream_protocol::endpoint{path}};
  auto ec = open(to);
  // Connect synchronously, because Asio mistakes the EAGAIN of a full backlog for a pending
  // connection.
  if (!ec && ::connect(socket_.native_handle(), to.data(), static_cast<socklen_t>(to.size())) != 0)
    ec = system_error(errno);
  if (!ec) binding_ = process_binding(peer_process(socket_.native_handle()), ::getpid());
  report(ec);
}

error_code socket_link::open(const address& to) {
  error_code ec;
  socket_.close(ec);
  // Asio's own sockets are not close-on-exec. A child process must not keep the session's
  // connection open unless that is intended.
  const int at_exec = inheritable_ && to.protocol().family() == AF_UNIX ? 0 : SOCK_CLOEXEC;
  int fd = ::socket(to.protocol().family(), to.protocol().type() | at_exec | SOCK_NONBLOCK,
                    to.protocol().protocol());
  if (fd < 0) return system_error(errno);
  if (at_exec == 0) fd = moved_up(fd);
  socket_.assign(to.protocol(), fd, ec);
  if (ec) ::close(fd);
  return ec;
}

void socket_link::report(error_code ec) {
  // This is posted, because connect() must not call its owner before it returns.
  boost::asio::post(socket_.get_executor(), [self = shared_from_this(), ec] {
    if (!self->closed_) std::exchange(self->done_, nullptr)(ec);
  });
}

void socket_link::try_next(error_code last) {
  if (closed_) return;
  if (next_address_ == addresses_.size()) return report(last);
  const auto& to = addresses_[next_address_++];
  if (const auto ec = open(to)) return try_next(ec);
  socket_.async_connect(to, [self = shared_from_this()](boost::system::error_code failed) {
    if (self->closed_) return;
    if (failed) return self->try_next(failed);
    boost::system::error_code ignored;
    self->socket_.set_option(tcp::no_delay{true}, ignored);
    self->socket_.non_blocking(true, ignored);
    // Asio has registered the socket for writability in order to connect. Every later wait would
    // wake up for that, so register the socket again.
    const auto protocol = self->addresses_[self->next_address_ - 1].protocol();
    const int connected = self->socket_.release(ignored);
    boost::system::error_code unassigned;
    self->socket_.assign(protocol, connected, unassigned);
    if (unassigned) {
      ::close(connected);
      return self->try_next(unassigned);
    }
    std::exchange(self->done_, nullptr)({});
  });
}

socket_link::transfer socket_link::send(std::string_view bytes) noexcept {
  ssize_t n;
  do {
    n = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return transferred(n);
}

socket_link::transfer socket_link::receive(char* into, std::size_t size) noexcept {
  ssize_t n;
  do {
    n = ::recv(socket_.native_handle(), into, size, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return transferred(n);
}

std::string socket_link::peer_address() const {
  const auto& to = addresses_[next_address_ - 1];
  tcp::endpoint peer;
  peer.resize(to.size());
  std::memcpy(peer.data(), to.data(), to.size());
  return peer.address().to_string();
}

bool socket_link::peer_closed() const noexcept {
  if (closed_) return true;
  // native_handle() is not const, although it changes nothing.
  pollfd p{const_cast<socket_type&>(socket_).native_handle(), POLLRDHUP, 0};
  return ::poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void socket_link::close() noexcept {
  closed_ = true;
  done_ = nullptr;
  boost::system::error_code ignored;
  resolver_.cancel();
  socket_.close(ignored);
}

}  // namespace conclave::runtime
