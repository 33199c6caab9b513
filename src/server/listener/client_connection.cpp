#include "server/listener/client_connection.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace conclave::server_impl {

bool client_connection::receive(char* buffer, std::size_t size, std::string_view& plain) {
  plain = {};
  ssize_t n;
  do {
    n = ::recv(socket.native_handle(), buffer, size, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno == EAGAIN;
  if (n == 0) return false;
  const std::string_view arrived{buffer, static_cast<std::size_t>(n)};
  if (tls == nullptr) {
    plain = arrived;
    return true;
  }
  plain_.clear();
  const auto failed = tls->receive(arrived, plain_);
  send_buffer_ += tls->output;  // TLS handshake messages or an alert
  tls->output.clear();
  plain = plain_;
  return flush() && !failed;
}

bool client_connection::send(std::string& bytes) {
  if (tls != nullptr) {
    if (!bytes.empty() && tls->encrypt(bytes)) return false;
    bytes.clear();
    send_buffer_ += tls->output;
    tls->output.clear();
  } else if (send_buffer_.empty()) {
    send_buffer_.swap(bytes);
  } else {
    send_buffer_ += bytes;
    bytes.clear();
  }
  return flush();
}

void client_connection::close() {
  boost::system::error_code ignored;
  socket.shutdown(socket_type::shutdown_both, ignored);
  socket.close(ignored);
}

bool client_connection::flush() {
  bool moved = send_buffer_.empty();
  while (sent_ < send_buffer_.size()) {
    const auto n = ::send(socket.native_handle(), send_buffer_.data() + sent_,
                          send_buffer_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) return false;
    sent_ += static_cast<std::size_t>(n);
    moved = true;
  }
  if (sent_ == send_buffer_.size()) {
    // Do not keep the memory of one large reply.
    if (send_buffer_.capacity() > 64 * 1024)
      send_buffer_ = {};
    else
      send_buffer_.clear();
    sent_ = 0;
  } else if (sent_ > send_buffer_.size() / 2) {
    // The cost is amortized, because erase() moves fewer bytes than were sent.
    send_buffer_.erase(0, sent_);
    sent_ = 0;
  }
  if (moved) last_sent = clock::now();
  return true;
}

}  // namespace conclave::server_impl
