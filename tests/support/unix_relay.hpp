// Forwards connections of a Unix socket to a TCP port of 127.0.0.1, so that clients with Unix
// sockets can reach a ZooKeeper server or a link_proxy. Or to another Unix socket, as socat and ssh
// -L do. If either side closes, the other is closed, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace conclave::testing {

class unix_relay {
 public:
  // Creates the socket file. Its folder must exist. Throws boost::system::system_error.
  unix_relay(const std::filesystem::path& socket, std::uint16_t upstream_port);
  unix_relay(const std::filesystem::path& socket, const std::filesystem::path& upstream);
  ~unix_relay();  // leaves the file
  unix_relay(const unix_relay&) = delete;
  unix_relay& operator=(const unix_relay&) = delete;

  std::size_t links_accepted() const noexcept;  // so far

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace conclave::testing
