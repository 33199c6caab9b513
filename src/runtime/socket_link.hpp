// One TCP or Unix socket connection to a server, from name resolution to closing the socket.
//
// All functions run on the I/O thread, with one exception: any thread may call send() with the
// owner's lock held. close() also needs this lock, so that no thread uses a closed descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "conclave/connect_string.hpp"
#include "conclave/error.hpp"

namespace conclave::runtime {

class socket_link : public std::enable_shared_from_this<socket_link> {
 public:
  // If `inheritable` is true, child processes inherit the descriptor. This applies only to Unix
  // sockets.
  socket_link(boost::asio::io_context& io, bool inheritable)
      : socket_{io}, resolver_{io}, inheritable_{inheritable} {}

  // Resolves the host name and tries its addresses in turn. A Unix socket needs no name resolution.
  void connect(const endpoint& to, std::function<void(error_code)> done);

  struct transfer {
    std::size_t bytes = 0;
    error_code ec;  // would_block if nothing can be sent or received now
  };
  transfer send(std::string_view bytes) noexcept;
  // Zero bytes and no error mean that the server closed the connection.
  transfer receive(char* into, std::size_t size) noexcept;

  template <class F>
  void when_readable(F f) {
    socket_.async_wait(socket_type::wait_read, std::move(f));
  }
  template <class F>
  void when_writable(F f) {
    socket_.async_wait(socket_type::wait_write, std::move(f));
  }

  // Returns the numeric address of the server. Only for TCP, and only while connected.
  std::string peer_address() const;
  // Returns process_binding() for a Unix socket, otherwise zero.
  std::int32_t binding() const noexcept { return binding_; }
  // Returns true if the peer has closed the connection, even if unread data is left. May be called
  // on any thread with the owner's lock held.
  bool peer_closed() const noexcept;

  void close() noexcept;

 private:
  using socket_type = boost::asio::generic::stream_protocol::socket;
  using address = boost::asio::generic::stream_protocol::endpoint;

  void connect_local(const std::string& path);
  void try_next(error_code last);
  error_code open(const address& to);
  void report(error_code ec);

  socket_type socket_;
  boost::asio::ip::tcp::resolver resolver_;
  std::vector<address> addresses_;
  std::size_t next_address_ = 0;
  std::function<void(error_code)> done_;
  std::int32_t binding_ = 0;
  bool inheritable_;
  bool closed_ = false;
};

}  // namespace conclave::runtime
