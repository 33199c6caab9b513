// Limits the number of open connections, in total and per client address.
//
// A part of the total is reserved for the Unix socket and for sessions that reconnect, so that one
// client cannot use all connections.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace conclave::server_impl {

class admission {
 public:
  struct limits {
    std::size_t connections = 0;
    std::size_t per_address = 0;  // 0: no limit
  };
  explicit admission(limits l) : limits_{l}, reserve_{l.connections / 16} {}

  enum class verdict { admitted, server_full, address_full };
  // Checks a new connection from this address. An empty address means the Unix socket, which has
  // only the total limit.
  verdict check(const std::string& address) const;
  void opened(const std::string& address);
  void closed(const std::string& address);

  // True if a new session may start while `established` connections have completed their handshake.
  // Above the first limit, new sessions are accepted only on the Unix socket. Above the second
  // limit, only reconnecting sessions are accepted.
  bool may_begin_session(bool on_unix_socket, std::size_t established) const {
    return established + (on_unix_socket ? 1 : 2) * reserve_ < limits_.connections;
  }

  std::size_t addresses() const noexcept { return per_address_.size(); }  // with open connections

  // The network that shares one per-address limit: 127.0.0.0/8, the /64 of an IPv6 address,
  // otherwise the address itself.
  static std::string network_of(const std::string& address);
  // The default limit per address: a quarter of the total, and at least the default of Apache's
  // server.
  static std::size_t default_per_address(std::size_t connections);

 private:
  limits limits_;
  std::size_t reserve_;
  std::size_t open_ = 0;
  std::unordered_map<std::string, std::size_t> per_address_;
};

}  // namespace conclave::server_impl
