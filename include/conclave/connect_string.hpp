// A connect string lists the servers in ZooKeeper's format: `host:port,host:port/chroot`.
//
// The default port is 2181. IPv6 addresses are written in brackets: `[::1]:2181`. The client
// prepends the chroot, if there is one, to every path. The chroot must exist. The client does not
// create it.
//
// `unix:/path` names a server on this machine that listens on a Unix socket. A list may contain
// both kinds of addresses. The socket's path ends at ',' or ':', so a chroot follows after a colon:
// `unix:/run/conclave/socket:/chroot`. Connections to a Unix socket never use TLS, whatever the
// client's options are. The permissions of the socket file control access.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conclave {

struct endpoint {
  std::string host;
  std::uint16_t port = 2181;
  std::string socket_path{};  // absolute path of a Unix socket; host and port are then unused

  friend bool operator==(const endpoint&, const endpoint&) = default;
};

// Formats the endpoint as in a connect string: "host:port", "[ipv6]:port" or "unix:/path".
std::string to_string(const endpoint& e);

struct connect_string {
  std::vector<endpoint> hosts;
  std::string chroot;  // empty, or "/a/b" without a trailing slash

  // Throws errc::bad_connect_string with a message that describes the error.
  static connect_string parse(std::string_view text);
};

}  // namespace conclave
