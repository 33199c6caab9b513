// One connection to one server, by TCP or by a Unix socket, from resolving its name to closing the
// socket.
//
// Everything happens on the I/O thread but send(), which any thread may call under the owner's
// lock; close() is called under that lock, too, so that a descriptor is never used after it was
// given back.
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
  // Inheritable: by a program that this process starts; Unix sockets only.
  socket_link(boost::asio::io_context& io, bool inheritable)
      : socket_{io}, resolver_{io}, inheritable_{inheritable} {}

  // Resolves the name anew, then tries its addresses one after the other. A Unix socket has no name
  // to resolve.
  void connect(const endpoint& to, std::function<void(error_code)> done);

  struct transfer {
    std::size_t bytes = 0;
    error_code ec;  // would_block if the socket has no room or nothing to give
  };
  transfer send(std::string_view bytes) noexcept;
  // Nothing and no error: the server ended the connection.
  transfer receive(char* into, std::size_t size) noexcept;

  template <class F>
  void when_readable(F f) {
    socket_.async_wait(socket_type::wait_read, std::move(f));
  }
  template <class F>
  void when_writable(F f) {
    socket_.async_wait(socket_type::wait_write, std::move(f));
  }

  // Of a Unix socket: process_binding(). Otherwise zero.
  std::int32_t binding() const noexcept { return binding_; }
  // Whether the other side has closed, read or not; as send() from any thread under the lock.
  bool peer_gone() const noexcept;

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
