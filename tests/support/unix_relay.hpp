// A Unix socket whose connections go on to a TCP port of 127.0.0.1: what a client that uses Unix
// sockets needs to reach a ZooKeeper or a link_proxy. Or to another Unix socket, as with socat and
// ssh -L. The end of either side ends the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace conclave::testing {

class unix_relay {
 public:
  // Makes the socket file, whose folder must exist. Throws boost::system::system_error.
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
