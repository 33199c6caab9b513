#include "server/raw_session.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/process_binding.hpp"

namespace conclave::testing {
namespace {

constexpr std::int32_t event_xid = -1;

loopback_socket connect_unix(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{10, 0};  // for space in the listen backlog
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int result = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at);
  const int why = errno;
  loopback_socket link{fd};
  if (result != 0) throw connection_ended{path + ": " + std::strerror(why)};
  return link;
}

}  // namespace

loopback_socket connect_to(const std::string& address) {
  constexpr std::string_view unix_prefix = "unix:";
  if (address.starts_with(unix_prefix)) return connect_unix(address.substr(unix_prefix.size()));
  return loopback_socket::connect(
      static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
}

void append_text(std::string& bytes, std::string_view text) {
  append_int32(bytes, static_cast<std::int32_t>(text.size()));
  bytes += text;
}

std::string request(std::int32_t xid, op type) {
  std::string bytes;
  append_int32(bytes, xid);
  append_int32(bytes, static_cast<std::int32_t>(type));
  return bytes;
}

std::string create_request(std::int32_t xid, std::string_view path, std::string_view data,
                           bool ephemeral) {
  auto bytes = request(xid, op::create);
  append_text(bytes, path);
  append_text(bytes, data);
  append_int32(bytes, 1);
  append_int32(bytes, 31);
  append_text(bytes, "world");
  append_text(bytes, "anyone");
  append_int32(bytes, ephemeral ? 1 : 0);
  return bytes;
}

std::string path_request(std::int32_t xid, op type, std::string_view path, bool watch) {
  auto bytes = request(xid, type);
  append_text(bytes, path);
  if (type == op::remove)
    append_int32(bytes, -1);
  else
    bytes.push_back(watch ? '\1' : '\0');
  return bytes;
}

std::string set_request(std::int32_t xid, std::string_view path, std::string_view data) {
  auto bytes = request(xid, op::set_data);
  append_text(bytes, path);
  append_text(bytes, data);
  append_int32(bytes, -1);
  return bytes;
}

std::string add_watch_request(std::int32_t xid, std::string_view path, bool recursive) {
  auto bytes = request(xid, op::add_watch);
  append_text(bytes, path);
  append_int32(bytes, recursive ? 1 : 0);
  return bytes;
}

raw_reply decode_reply(std::string_view payload) {
  return {int32_at(payload, 0), int64_at(payload, 4), int32_at(payload, 12),
          std::string{payload.substr(16)}};
}

raw_session::raw_session(const std::string& address) : link{connect_to(address)} {
  if (address.starts_with("unix:"))
    binding = process_binding(peer_process(link.native_handle()), ::getpid());
}

bool raw_session::handshake(connect_request hello) {
  if (hello.protocol_version == 0) hello.protocol_version = binding;
  std::string answer;
  try {
    link.send_frame(encode(hello));
    answer = link.receive_frame();
  } catch (const connection_ended&) {
    return false;
  }
  agreed_binding = int32_at(answer, 0);
  timeout_ms = int32_at(answer, 4);
  id = int64_at(answer, 8);
  password = answer.substr(20, 16);
  return id != 0;
}

bool raw_session::handshake(std::int32_t timeout) { return handshake(connect_request{timeout}); }

bool raw_session::reconnect(std::int64_t session, const std::string& its_password,
                            std::int32_t its_timeout_ms) {
  connect_request hello{its_timeout_ms};
  hello.session_id = session;
  hello.password = its_password;
  return handshake(hello);
}

raw_reply raw_session::call(const std::string& payload) {
  link.send_frame(payload);
  while (true) {
    auto reply = decode_reply(link.receive_frame());
    if (reply.xid != event_xid) return reply;
  }
}

bool is_ended(loopback_socket& link, std::chrono::milliseconds limit) {
  try {
    link.receive_until_end(limit);
    return true;
  } catch (const connection_ended&) {
    return true;
  } catch (const timed_out&) {
    return false;
  }
}

}  // namespace conclave::testing
