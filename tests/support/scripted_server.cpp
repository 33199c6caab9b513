#include "scripted_server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>

#include "listen_on_loopback.hpp"

namespace conclave::testing {

connect_request scripted_connection::read_connect_request(milliseconds timeout) {
  return decode_connect_request(read_frame(timeout));
}

void scripted_connection::send_reply(std::int32_t xid, std::int64_t zxid, std::int32_t error,
                                     std::string_view body) {
  std::string payload;
  append_int32(payload, xid);
  append_int64(payload, zxid);
  append_int32(payload, error);
  send_frame(payload.append(body));
}

connect_request scripted_connection::accept_session(std::int32_t timeout_ms,
                                                    std::int64_t session_id) {
  connect_request request = read_connect_request();
  std::string response;
  append_int32(response, 0);
  append_int32(response, timeout_ms);
  append_int64(response, session_id);
  append_int32(response, 16);
  response.append(16, session_id == 0 ? '\0' : 'p');
  if (request.has_read_only) response.push_back('\0');
  send_frame(response);
  return request;
}

bool scripted_connection::wait_until_closed(milliseconds timeout) {
  try {
    socket_.receive_until_end(timeout);
    return true;
  } catch (const connection_ended&) {
    return true;
  } catch (const timed_out&) {
    return false;
  }
}

scripted_server::scripted_server(script per_connection) : script_(std::move(per_connection)) {
  std::tie(listener_, port_) = listen_on_loopback();
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (stop_fd_ < 0) {
    ::close(listener_);
    throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  acceptor_ = std::thread([this] { accept_loop(); });
}

scripted_server::~scripted_server() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_fd_, &one, sizeof one);
  acceptor_.join();
  for (auto& thread : scripts_) thread.join();
  ::close(listener_);
  ::close(stop_fd_);
}

std::vector<std::string> scripted_server::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

void scripted_server::accept_loop() {
  for (;;) {
    pollfd watched[2] = {{listener_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    ::poll(watched, 2, -1);
    if (watched[1].revents != 0) return;
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) continue;  // the client has already gone
    const std::size_t index = connections_++;
    scripts_.emplace_back([this, fd, index] { run_script(fd, index); });
  }
}

void scripted_server::run_script(int fd, std::size_t index) {
  scripted_connection connection(loopback_socket(fd), index);
  connection.socket_.stop_on(stop_fd_);
  try {
    script_(connection);
  } catch (const connection_ended&) {
  } catch (const std::exception& failure) {
    const std::lock_guard lock(mutex_);
    failures_.push_back("connection " + std::to_string(index) + ": " + failure.what());
  }
}

}  // namespace conclave::testing
