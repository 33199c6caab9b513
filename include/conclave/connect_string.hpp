// Where the servers are, as ZooKeeper's users write it: `host:port,host:port/chroot`.
//
// The port may be left out (2181). IPv6 addresses stand in brackets: `[::1]:2181`. The chroot,
// if given, is put before every path that the client uses; it must exist, and is not created.
//
// `unix:/path` is a server on this machine that listens on a Unix socket; such hosts and others may
// stand in one list. The path ends at a ',' or ':', so a chroot after it needs a colon of its own:
// `unix:/run/conclave/socket:/chroot`. TLS is not spoken over a Unix socket, whatever the client's
// options say: the file's permissions tell who may connect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conclave {

struct endpoint {
  std::string host;
  std::uint16_t port = 2181;
  std::string socket_path{};  // absolute; if not empty, this is a Unix socket without host and port

  friend bool operator==(const endpoint&, const endpoint&) = default;
};

// As in a connect string: "host:port", with brackets where the host is an IPv6 address, or
// "unix:/path".
std::string to_string(const endpoint& e);

struct connect_string {
  std::vector<endpoint> hosts;
  std::string chroot;  // empty, or "/a/b" without a slash at its end

  // Throws conclave::error (errc::bad_connect_string) that says what is wrong where.
  static connect_string parse(std::string_view text);
};

}  // namespace conclave
