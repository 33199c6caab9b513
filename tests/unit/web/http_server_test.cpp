// The page's HTTP server may be in the process of the lock server. So an error of one connection
// must not end the program or the other connections.
#include "web/http_server.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

namespace conclave::web {
namespace {

using boost::asio::ip::tcp;

class http_client {
 public:
  http_client(const http_server& server, const std::string& path) : socket_{io_} {
    socket_.connect({boost::asio::ip::make_address("127.0.0.1"), server.port()});
    get(path);
  }
  void get(const std::string& path) {
    boost::asio::write(socket_,
                       boost::asio::buffer("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  // Returns the received bytes up to and including `end`.
  std::string read_until(const std::string& end) {
    const auto n = boost::asio::read_until(socket_, boost::asio::dynamic_buffer(received_), end);
    return received_.substr(0, n);
  }
  // Reads the rest of a reply whose header was read with read_until().
  void read_body(std::size_t size) {
    std::string rest(size - (received_.size() - received_.find("\r\n\r\n") - 4), '\0');
    boost::asio::read(socket_, boost::asio::buffer(rest));
    received_.clear();
  }
  // Returns all bytes that are received until the server closes the connection.
  std::string read_all() {
    boost::system::error_code closed;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(received_), closed);
    return received_;
  }

 private:
  boost::asio::io_context io_;
  tcp::socket socket_;
  std::string received_;
};

constexpr std::size_t large_size = std::size_t{32} << 20;  // more than the buffers of both sockets

// Sends one event after each call of http_server::notify().
class events final : public event_source {
 public:
  enum class kind { small, large, fails, fails_at_the_end };
  explicit events(kind k) : kind_{k} {}

  shared_text next() override {
    switch (kind_) {
      case kind::small: return share("data: small\n\n");
      case kind::large: return share("data: " + std::string(large_size, 'x') + "\n\n");
      case kind::fails: throw std::bad_alloc{};
      case kind::fails_at_the_end: return nullptr;
    }
    return nullptr;
  }
  bool has_ended() override {
    if (kind_ == kind::fails_at_the_end) throw std::bad_alloc{};
    return false;
  }

 private:
  const kind kind_;
};

http_reply answer(const http_request& r) {
  http_reply to;
  to.response.body = share("text");
  if (r.path == "/text") to.response.body = share(std::string(large_size, 'x'));
  if (r.path == "/throws") throw std::bad_alloc{};
  if (r.path == "/small") to.events = std::make_unique<events>(events::kind::small);
  if (r.path == "/large") to.events = std::make_unique<events>(events::kind::large);
  if (r.path == "/fails") to.events = std::make_unique<events>(events::kind::fails);
  if (r.path == "/end") to.events = std::make_unique<events>(events::kind::fails_at_the_end);
  return to;
}

void expect_reply(const http_server& server) {
  EXPECT_EQ(http_client(server, "/").read_until("text").substr(0, 15), "HTTP/1.1 200 OK");
}

TEST(http_server, a_handler_that_throws_costs_only_its_connection) {
  const http_server server{"127.0.0.1", 0, answer};
  EXPECT_EQ(http_client(server, "/throws").read_all().substr(0, 12), "HTTP/1.1 500");
  expect_reply(server);
}

TEST(http_server, an_event_stream_that_throws_costs_only_its_connection) {
  const http_server server{"127.0.0.1", 0, answer};
  for (const auto* const path : {"/fails", "/end"}) {
    const auto received = http_client(server, path).read_all();
    EXPECT_EQ(received.substr(0, 15), "HTTP/1.1 200 OK");
    EXPECT_TRUE(received.ends_with("\r\n\r\n")) << "no event";
  }
  expect_reply(server);
}

// Clients that do not read must not use up the memory of the process.
TEST(http_server, events_that_are_being_sent_are_limited_for_all_streams_together) {
  http_limits limits;
  limits.max_outgoing_bytes = std::size_t{80} << 20;
  const http_server server{"127.0.0.1", 0, answer, limits};
  http_client first{server, "/large"}, second{server, "/large"};
  first.read_until("data: ");
  second.read_until("data: ");
  const auto third = http_client(server, "/large").read_all();
  EXPECT_TRUE(third.ends_with("\r\n\r\n")) << "only the header";
  expect_reply(server);
  EXPECT_NE(http_client(server, "/small").read_until("small").find("data: small"),
            std::string::npos)
      << "small events still fit";
}

TEST(http_server, replies_that_are_being_sent_count_in_the_limit_of_the_events) {
  http_limits limits;
  limits.max_outgoing_bytes = std::size_t{80} << 20;
  limits.write_timeout = std::chrono::minutes{10};
  const http_server server{"127.0.0.1", 0, answer, limits};
  http_client first{server, "/text"}, second{server, "/large"};
  EXPECT_EQ(first.read_until("\r\n\r\n").substr(0, 12), "HTTP/1.1 200");
  second.read_until("data: ");
  EXPECT_EQ(http_client(server, "/text").read_until("\r\n").substr(0, 12), "HTTP/1.1 503");
  EXPECT_TRUE(http_client(server, "/large").read_all().ends_with("\r\n\r\n")) << "no event";
  expect_reply(server);  // small replies are always sent
  first.read_body(large_size);
  first.get("/text");
  EXPECT_EQ(first.read_until("\r\n\r\n").substr(0, 12), "HTTP/1.1 200");
}

}  // namespace
}  // namespace conclave::web
