// A client that does exactly what it is told: no pings, no reconnecting, bytes in any order. It
// shares no code with the library, but for what binds a session on a Unix socket to a process.
//
//   raw_session s{server.socket()};
//   s.greet(1000);
//   s.create("/a", "data");
//
// Everything throws timed_out or connection_ended (loopback_socket.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/frames.hpp"
#include "support/loopback_socket.hpp"

namespace conclave::testing {

// "unix:PATH" or "127.0.0.1:PORT".
loopback_socket connect_to(const std::string& address);

// The payloads of requests. An xid stands first in each.
enum class op : std::int32_t {
  create = 1,
  remove = 2,
  exists = 3,
  get_data = 4,
  set_data = 5,
  get_children = 8,
  ping = 11,
  close_session = -11,
  add_watch = 106,
};
void append_text(std::string& bytes, std::string_view text);
std::string request(std::int32_t xid, op type);
std::string create_request(std::int32_t xid, std::string_view path, std::string_view data,
                           bool ephemeral);
std::string path_request(std::int32_t xid, op type, std::string_view path, bool watch = false);
std::string set_request(std::int32_t xid, std::string_view path, std::string_view data);
std::string add_watch_request(std::int32_t xid, std::string_view path, bool recursive);

struct raw_reply {
  std::int32_t xid = 0;
  std::int64_t zxid = 0;
  std::int32_t error = 0;
  std::string body;
};
raw_reply decode_reply(std::string_view payload);

class raw_session {
 public:
  explicit raw_session(const std::string& address);

  // A new session; false if the server refuses it.
  bool handshake(std::int32_t timeout_ms);
  bool handshake(connect_request hello);
  // The session of another connection.
  bool reconnect(const raw_session& before) {
    return reconnect(before.id, before.password, before.timeout_ms);
  }
  bool reconnect(std::int64_t session, const std::string& its_password,
                 std::int32_t its_timeout_ms);

  raw_reply call(const std::string& payload);  // the next reply; events are left out
  std::int32_t create(std::string_view path, std::string_view data = {}, bool ephemeral = false) {
    return call(create_request(++xid, path, data, ephemeral)).error;
  }
  std::int32_t exists(std::string_view path) {
    return call(path_request(++xid, op::exists, path)).error;
  }

  loopback_socket link;
  std::int64_t id = 0;
  std::string password;
  std::int32_t timeout_ms = 0;
  std::int32_t xid = 0;
  std::int32_t binding = 0;         // to be sent; process_binding() on a Unix socket
  std::int32_t agreed_binding = 0;  // what the server answered
};

// Closed by the other side, at once or within the limit; what was sent before is thrown away.
bool is_ended(loopback_socket& link, std::chrono::milliseconds limit = std::chrono::seconds{10});

}  // namespace conclave::testing
