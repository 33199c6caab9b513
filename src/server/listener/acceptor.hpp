// A listening socket: a TCP address, with or without TLS, or a Unix socket.
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

  // Listens on "HOST:PORT", "[IPV6]:PORT" or "PORT". On failure, throws std::runtime_error with the
  // address and the reason.
  static acceptor tcp(boost::asio::io_context& io, const std::string& address, transport type);
  // Listens on a Unix socket. The server's user, root and the members of `group` can connect to it.
  // If `group` is empty, only the server's user and root can.
  static acceptor unix_socket(boost::asio::io_context& io, const std::filesystem::path& path,
                              const std::string& group);
  // Listens on a socket that another process has opened: TCP without TLS, or a Unix socket.
  // Duplicates the descriptor. Throws conclave::error if it is not such a socket.
  static acceptor inherited(boost::asio::io_context& io, int listening_socket);
  acceptor(acceptor&&) = default;
  ~acceptor();

  transport transport_type() const noexcept { return transport_; }
  // Returns the address in the form of a connect string: "127.0.0.1:2181",
  // "unix:/run/conclave/socket".
  const std::string& address() const noexcept { return address_; }
  std::uint16_t port() const noexcept { return port_; }

  struct accepted_connection {
    boost::asio::generic::stream_protocol::socket socket;
    std::string address;  // of a TCP client, without the port; empty on a Unix socket
    std::string name;     // address and port, or process, for the log
    pid_t pid = 0;        // of the peer process on a Unix socket, otherwise 0
    uid_t uid = 0;
    // The client may have connected to a Unix socket before this process called listen(). Then the
    // kernel shows the client a different process as its server.
    bool may_precede_listen = false;
  };
  // Accepts the next connection. Returns null if no connection is pending. Sets
  // `out_of_descriptors` if the process or the system has no descriptors or memory left for a
  // connection.
  std::unique_ptr<accepted_connection> accept(bool& out_of_descriptors);

  bool is_waiting = false;  // async_wait_readable() is pending

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
  bool is_inherited_ = false;
  bool has_old_connections_ = false;   // some may have connected before listen(); see inherited()
  std::filesystem::path socket_file_;  // removed by the destructor, unless empty
  ino_t socket_inode_ = 0;             // of socket_file_, to recognize the server's own socket
};

}  // namespace conclave::server_impl
