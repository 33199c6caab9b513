// Where clients come in: a TCP address or a Unix socket.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace conclave::server_impl {

class acceptor {
 public:
  enum class transport { tcp, tls, unix_socket };

  // "HOST:PORT", "[IPV6]:PORT" or "PORT". Throws std::runtime_error that says what is wrong.
  static acceptor tcp(boost::asio::io_context& io, const std::string& address, transport type);
  // For our user and root, and for the members of the group, unless that is empty.
  static acceptor unix_socket(boost::asio::io_context& io, const std::filesystem::path& path,
                              const std::string& group);
  acceptor(acceptor&&) = default;
  ~acceptor();

  transport transport_type() const noexcept { return transport_; }
  // As a client writes it: "127.0.0.1:2181", "unix:/run/conclave/socket".
  const std::string& address() const noexcept { return address_; }
  std::uint16_t port() const noexcept { return port_; }

  struct accepted_connection {
    boost::asio::generic::stream_protocol::socket socket;
    std::string address;  // of a TCP client, without its port
    std::string name;     // for the log
    pid_t pid = 0;        // on a Unix socket
    uid_t uid = 0;
  };
  // The next one that waits, if any. `out_of_descriptors` is set if there may be one
  // that cannot be let in now.
  std::unique_ptr<accepted_connection> accept(bool& out_of_descriptors);

  bool is_waiting = false;  // a wait is under way

  template <class F>
  void async_wait_readable(F f) {
    descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read, std::move(f));
  }

 private:
  acceptor(boost::asio::io_context& io, int fd, transport type)
      : io_{&io}, descriptor_{io, fd}, transport_{type} {}

  boost::asio::io_context* io_;
  boost::asio::posix::stream_descriptor descriptor_;
  transport transport_;
  std::string address_;
  std::uint16_t port_ = 0;
  std::filesystem::path socket_file_;
  ino_t socket_inode_ = 0;  // of that file
};

}  // namespace conclave::server_impl
