// How many connections may be open at once, and whose.
//
// One client cannot take them all: an address has a share, and some connections are kept for the
// Unix socket and for sessions that reconnect.
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
    std::size_t per_address = 0;  // zero: no limit
  };
  explicit admission(limits l) : limits_{l}, reserve_{l.connections / 16} {}

  enum class verdict { admitted, server_full, address_full };
  // Of a connection from this address; empty on the Unix socket, which has no limit of its own.
  verdict check(const std::string& address) const;
  void opened(const std::string& address);
  void closed(const std::string& address);

  // Whether a new session may begin, when so many connections have done their handshake. Above the
  // first limit only the Unix socket may, above the second only sessions that reconnect.
  bool may_begin_session(bool on_unix_socket, std::size_t established) const {
    return established + (on_unix_socket ? 1 : 2) * reserve_ < limits_.connections;
  }

  std::size_t addresses() const noexcept { return per_address_.size(); }  // with a connection

  // What counts as one address: all of 127.0.0.0/8, the upper half of an IPv6 address.
  static std::string network_of(const std::string& address);
  // Where nothing was set: a quarter of all, but at least what Apache's server allows.
  static std::size_t default_per_address(std::size_t connections);

 private:
  limits limits_;
  std::size_t reserve_;
  std::size_t open_ = 0;
  std::unordered_map<std::string, std::size_t> per_address_;
};

}  // namespace conclave::server_impl
