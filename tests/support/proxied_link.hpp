// The state of one link of a link_proxy: two sockets, and a lane for each direction. The logic is
// in link_proxy.cpp.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "link_proxy.hpp"

namespace conclave::testing {

enum direction : std::size_t { to_server, to_client };
inline constexpr std::array both_directions{to_server, to_client};

// An item that waits to be passed on: a frame, a piece of an opaque stream, or the end of the
// stream.
struct item {
  enum class kind { frame, piece, fin, reset };
  kind what;
  std::string bytes;
  std::chrono::steady_clock::time_point due;
};

struct lane {
  explicit lane(boost::asio::io_context& io) : timer(io) {}

  std::array<char, 65536> buffer{};
  std::string unparsed;
  std::deque<item> queue;  // the front stays in place while it is being written
  std::size_t queued_bytes{0};
  std::size_t frames_passed{0};
  bool opaque{false};
  bool reading{false};
  bool writing{false};
  bool input_ended{false};
  bool output_ended{false};
  std::optional<link_proxy::afterwards> disconnect_after_write;
  boost::asio::steady_timer timer;
  bool timer_armed{false};
};

struct proxied_link {
  proxied_link(boost::asio::io_context& io, boost::asio::ip::tcp::socket accepted)
      : client(std::move(accepted)), server(io), lanes{lane(io), lane(io)} {}

  boost::asio::ip::tcp::socket& source(direction d) { return d == to_server ? client : server; }
  boost::asio::ip::tcp::socket& target(direction d) { return d == to_server ? server : client; }

  boost::asio::ip::tcp::socket client;
  boost::asio::ip::tcp::socket server;
  std::array<lane, 2> lanes;
  std::optional<std::int32_t> drop_xid;
  bool finished{false};  // drops all input until both peers have closed
};
using link_ptr = std::shared_ptr<proxied_link>;

}  // namespace conclave::testing
