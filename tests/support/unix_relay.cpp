#include "unix_relay.hpp"

#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

namespace conclave::testing {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::local::stream_protocol;
using any_protocol = asio::generic::stream_protocol;
using boost::system::error_code;

struct link {
  link(asio::io_context& io, stream_protocol::socket accepted)
      : client(std::move(accepted)), server(io) {}

  void close() {
    error_code ignored;
    client.close(ignored);
    server.close(ignored);
  }

  stream_protocol::socket client;
  any_protocol::socket server;
  std::array<char, 65536> to_server;
  std::array<char, 65536> to_client;
};
using link_ptr = std::shared_ptr<link>;

template <class From, class To>
void pump(const link_ptr& l, From& from, To& to, std::array<char, 65536>& buffer) {
  from.async_read_some(asio::buffer(buffer), [&, l](error_code read, std::size_t size) {
    if (read) return l->close();
    asio::async_write(to, asio::buffer(buffer, size), [&, l](error_code written, std::size_t) {
      if (written) return l->close();
      pump(l, from, to, buffer);
    });
  });
}

}  // namespace

class unix_relay::implementation {
 public:
  implementation(const std::filesystem::path& socket, any_protocol::endpoint upstream)
      : upstream_(std::move(upstream)), acceptor_(io_, stream_protocol::endpoint(socket.string())) {
    accept_next();
    thread_ = std::thread([this] { io_.run(); });
  }

  ~implementation() {
    io_.stop();
    thread_.join();
  }

  std::atomic<std::size_t> links_accepted{0};

 private:
  void accept_next() {
    acceptor_.async_accept([this](error_code error, stream_protocol::socket socket) {
      if (!error) begin_link(std::make_shared<link>(io_, std::move(socket)));
      accept_next();
    });
  }

  void begin_link(const link_ptr& l) {
    ++links_accepted;
    l->server.async_connect(upstream_, [l](error_code error) {
      if (error) return l->close();
      error_code ignored;
      l->server.set_option(tcp::no_delay(true), ignored);  // fails on a Unix socket
      pump(l, l->client, l->server, l->to_server);
      pump(l, l->server, l->client, l->to_client);
    });
  }

  const any_protocol::endpoint upstream_;
  asio::io_context io_{1};
  stream_protocol::acceptor acceptor_;
  std::thread thread_;
};

unix_relay::unix_relay(const std::filesystem::path& socket, std::uint16_t upstream_port)
    : implementation_(std::make_unique<implementation>(
          socket, tcp::endpoint(asio::ip::address_v4::loopback(), upstream_port))) {}
unix_relay::unix_relay(const std::filesystem::path& socket, const std::filesystem::path& upstream)
    : implementation_(
          std::make_unique<implementation>(socket, stream_protocol::endpoint(upstream.string()))) {}
unix_relay::~unix_relay() = default;

std::size_t unix_relay::links_accepted() const noexcept { return implementation_->links_accepted; }

}  // namespace conclave::testing
