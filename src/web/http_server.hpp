// An HTTP/1.1 server for a few hundred browsers and monitoring programs. It runs on its own thread.
//
// Every connection has limits: the size of a request, the time to send it, and the time to receive
// a reply. A client that exceeds a limit is disconnected, so slow clients do not block others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "web/http.hpp"

namespace conclave::web {

struct http_limits {
  std::size_t max_connections = 1200;
  std::size_t max_event_streams = 1024;
  // Events and replies that are being sent, of all connections. A stream that would exceed it is
  // closed, and a reply that would exceed it is replaced by an error. Replies of a few kilobytes do
  // not count.
  std::size_t max_outgoing_bytes = std::size_t{128} * 1024 * 1024;
  std::uint32_t max_header_bytes = 8192;
  std::uint64_t max_body_bytes = 4096;
  std::chrono::milliseconds read_timeout{10'000};   // for a whole request
  std::chrono::milliseconds write_timeout{15'000};  // for a whole reply or event
  std::chrono::milliseconds heartbeat{15'000};      // between bytes of an idle event stream
};

class http_server {
 public:
  // Called on the server's thread for each request. Must not block.
  using handler = std::function<http_reply(const http_request&)>;

  // Listens on a numeric address. Port 0 selects a free port. Throws boost::system::system_error.
  http_server(const std::string& address, std::uint16_t port, handler on_request,
              const http_limits& limits = {});
  // Disconnects all clients.
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  // Returns the address as in a URL: 127.0.0.1:7711 or [::1]:7711.
  std::string address() const;
  std::uint16_t port() const;
  // Lets all event streams send what is new. May be called from any thread.
  void notify();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace conclave::web
