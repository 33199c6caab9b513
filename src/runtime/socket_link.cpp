#include "runtime/socket_link.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cerrno>

namespace conclave::runtime {
namespace {

using boost::asio::ip::tcp;

error_code system_error(int value) { return {value, boost::system::system_category()}; }

socket_link::transfer transferred(ssize_t n) {
  if (n >= 0) return {static_cast<std::size_t>(n), {}};
  return {0, system_error(errno == EAGAIN ? EWOULDBLOCK : errno)};
}

}  // namespace

void socket_link::connect(const endpoint& to, std::function<void(error_code)> done) {
  done_ = std::move(done);
  // A number needs no resolver, which is a thread of its own.
  boost::system::error_code not_a_number;
  const auto number = boost::asio::ip::make_address(to.host, not_a_number);
  if (!not_a_number) {
    addresses_.emplace_back(tcp::endpoint{number, to.port});
    return try_next(boost::asio::error::host_not_found);
  }
  resolver_.async_resolve(to.host, std::to_string(to.port),
                          [self = shared_from_this()](boost::system::error_code ec, const tcp::resolver::results_type& found) {
                            if (ec == boost::asio::error::operation_aborted) return;
                            for (const auto& entry : found) self->addresses_.emplace_back(entry.endpoint());
                            self->try_next(ec ? ec : error_code{boost::asio::error::host_not_found});
                          });
}

void socket_link::try_next(error_code last) {
  if (closed_) return;
  if (next_address_ == addresses_.size()) return std::exchange(done_, nullptr)(last);
  const auto& to = addresses_[next_address_++];
  boost::system::error_code ec;
  socket_.close(ec);
  socket_.open(to.protocol(), ec);
  if (ec) return try_next(ec);
  // Asio's sockets are not close-on-exec, and a program started meanwhile must not keep our
  // session's connection open.
  ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
  socket_.async_connect(to, [self = shared_from_this()](boost::system::error_code failed) {
    if (self->closed_) return;
    if (failed) return self->try_next(failed);
    boost::system::error_code ignored;
    self->socket_.set_option(tcp::no_delay{true}, ignored);
    self->socket_.non_blocking(true, ignored);
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

void socket_link::close() noexcept {
  closed_ = true;
  done_ = nullptr;
  boost::system::error_code ignored;
  resolver_.cancel();
  socket_.close(ignored);
}

}  // namespace conclave::runtime
