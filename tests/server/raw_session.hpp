// A client that sends only what the test asks for: no pings, no reconnects, and any bytes. It
// shares no code with the library except the process binding of sessions on a Unix socket.
//
//   raw_session s{server.socket()};
//   s.handshake(1000);
//   s.create("/a", "data");
//
// All members throw timed_out or connection_ended (loopback_socket.hpp).
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

// The payloads of requests. Each starts with an xid.
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

  // Starts a new session. Returns false if the server refuses it.
  bool handshake(std::int32_t timeout_ms);
  bool handshake(connect_request hello);
  // Continues the session of another connection.
  bool reconnect(const raw_session& before) {
    return reconnect(before.id, before.password, before.timeout_ms);
  }
  bool reconnect(std::int64_t session, const std::string& its_password,
                 std::int32_t its_timeout_ms);

  raw_reply call(const std::string& payload);  // returns the next reply and skips events
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
  std::int32_t binding = 0;         // sent in the handshake; process_binding() on a Unix socket
  std::int32_t agreed_binding = 0;  // the server's reply
};

// Returns whether the peer closes the connection within the limit. Discards received bytes.
bool is_ended(loopback_socket& link, std::chrono::milliseconds limit = std::chrono::seconds{10});

}  // namespace conclave::testing
