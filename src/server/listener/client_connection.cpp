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
  waiting_ += tls->output;  // the handshake's part, or an alert
  tls->output.clear();
  plain = plain_;
  return flush() && !failed;
}

bool client_connection::send(std::string& bytes) {
  if (tls != nullptr) {
    if (!bytes.empty() && tls->encrypt(bytes)) return false;
    bytes.clear();
    waiting_ += tls->output;
    tls->output.clear();
  } else if (waiting_.empty()) {
    waiting_.swap(bytes);
  } else {
    waiting_ += bytes;
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
  bool moved = waiting_.empty();
  while (sent_ < waiting_.size()) {
    const auto n = ::send(socket.native_handle(), waiting_.data() + sent_, waiting_.size() - sent_,
                          MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) return false;
    sent_ += static_cast<std::size_t>(n);
    moved = true;
  }
  if (sent_ == waiting_.size()) {
    // One large answer must not stay in memory for ever.
    if (waiting_.capacity() > 64 * 1024)
      waiting_ = {};
    else
      waiting_.clear();
    sent_ = 0;
  } else if (sent_ > waiting_.size() / 2) {  // seldom: what is moved is what was sent, or less
    waiting_.erase(0, sent_);
    sent_ = 0;
  }
  if (moved) last_sent = clock::now();
  return true;
}

}  // namespace conclave::server_impl
