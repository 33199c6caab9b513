// Limits for sizes and for outstanding operations.
#include <atomic>
#include <thread>

#include "conclave/queue.hpp"
#include "integration/harness.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

TEST(limits, a_request_above_the_servers_frame_limit_is_refused_before_it_is_sent) {
  client zk{shared_server().connect_string()};
  const auto path = fresh_node(zk, "limits");
  const auto session = zk.session_id();
  EXPECT_EQ(code_of([&] { zk.set(path, std::string(0xfffff, 'x')); }), errc::too_large);
  EXPECT_TRUE(zk.exists(path));
  EXPECT_EQ(zk.session_id(), session);
}

TEST(limits, a_full_backlog_refuses_asynchronous_calls) {
  client_options options;
  options.max_outstanding = 10;
  inbox<error_code> got;  // outlives the client, which completes the others when it is closed
  client nowhere{"127.0.0.1:1", options};
  for (int i = 0; i < 11; ++i)
    nowhere.async_get("/", [&](error_code ec, get_result) { got.put(ec); });
  EXPECT_EQ(got.take(), error_code{errc::backlog_full});
  EXPECT_EQ(got.size(), 0u);
}

TEST(limits, outstanding_bytes_are_limited) {
  client_options options;
  options.max_outstanding_bytes = 1'000'000;
  inbox<error_code> got;
  client nowhere{"127.0.0.1:1", options};
  const std::string half(600'000, 'x');
  for (int i = 0; i < 3; ++i)
    nowhere.async_set("/", half, any_version, [&](error_code ec, node_stat) { got.put(ec); });
  EXPECT_EQ(got.take(), error_code{errc::backlog_full});
}

TEST(limits, a_full_backlog_makes_blocking_calls_wait) {
  link_proxy proxy{shared_server().port()};
  client_options options;
  options.max_outstanding = 4;
  client zk{proxy.connect_string(), options};
  zk.sync();
  proxy.blackhole(true);
  inbox<error_code> got;
  for (int i = 0; i < 4; ++i) zk.async_get("/", [&](error_code ec, get_result) { got.put(ec); });
  inbox<error_code> blocked;
  std::thread caller{[&] { blocked.put(code_of([&] { zk.get("/"); })); }};
  EXPECT_EQ(blocked.take(50ms), std::nullopt);
  proxy.blackhole(false);
  EXPECT_EQ(blocked.take(), error_code{});
  caller.join();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got.take(), error_code{});
}

TEST(limits, data_larger_than_a_socket_buffer_is_sent) {
  client zk{shared_server().connect_string()};
  const auto path = fresh_node(zk, "bulk");
  const std::string data(500'000, 'b');
  inbox<error_code> got;
  for (int i = 0; i < 40; ++i)
    zk.async_set(path, data, any_version, [&](error_code ec, node_stat) { got.put(ec); });
  for (int i = 0; i < 40; ++i) ASSERT_EQ(got.take(), error_code{});
  EXPECT_EQ(zk.get(path).stat.version, 40);
}

subscription counting_disconnects(client& zk, std::atomic<int>& disconnects) {
  return zk.on_session_event(
      [&](const session_event& e) { disconnects += e.type == session_event::kind::suspended; });
}

TEST(limits, a_reply_above_the_limit_fails_only_its_call) {
  client_options options;
  options.max_reply_bytes = 10'000;
  client zk{shared_server().connect_string(), options};
  std::atomic<int> disconnects = 0;
  const auto events = counting_disconnects(zk, disconnects);
  const auto path = fresh_node(zk, "reply");
  zk.set(path, std::string(500'000, 'x'));
  inbox<error_code> behind;
  zk.async_get(path, [](error_code, get_result) {});
  zk.async_exists(path, [&](error_code ec, std::optional<node_stat>) { behind.put(ec); });
  EXPECT_EQ(behind.take(), error_code{});
  EXPECT_EQ(code_of([&] { zk.get(path); }), errc::reply_too_large);
  zk.set(path, "small");
  EXPECT_EQ(zk.get(path).data, "small");
  EXPECT_EQ(disconnects, 0);
}

// Locks and queues must work with any number of contenders and items.
TEST(limits, recipes_accept_listings_above_the_limit) {
  client_options options;
  options.max_reply_bytes = 500;
  client zk{shared_server().connect_string(), options};
  std::atomic<int> disconnects = 0;
  const auto events = counting_disconnects(zk, disconnects);
  const auto path = fresh_node(zk, "long");
  queue q{zk, path};
  q.push(std::vector<std::string>(300, "x"));
  EXPECT_EQ(code_of([&] { zk.children(path); }), errc::reply_too_large);
  EXPECT_EQ(q.names().size(), 300u);
  EXPECT_TRUE(q.front());
  EXPECT_TRUE(q.try_pop());
  EXPECT_TRUE(q.try_claim());
  EXPECT_EQ(disconnects, 0);
}

TEST(limits, a_connection_timeout_names_the_servers_and_reasons) {
  client_options options;
  options.connect_wait = 200ms;
  client zk{"127.0.0.1:1", options};
  try {
    zk.get("/");
    FAIL();
  } catch (const error& e) {
    EXPECT_NE(std::string{e.what()}.find("127.0.0.1:1: Connection refused"), std::string::npos)
        << e.what();
  }
}

TEST(limits, waiting_without_a_limit_is_possible) {
  client_options options;
  options.connect_wait = std::chrono::milliseconds::max();
  client zk{shared_server().connect_string(), options};
  EXPECT_TRUE(zk.exists("/"));
  EXPECT_TRUE(zk.wait_connected(std::chrono::nanoseconds::max()));
}

TEST(limits, invalid_options_are_refused) {
  const auto refused = [](auto change) {
    client_options options;
    change(options);
    return code_of([&] { client{"127.0.0.1:1", options}; });
  };
  EXPECT_EQ(refused([](auto& o) { o.session_timeout = 0ms; }), errc::invalid_argument);
  EXPECT_EQ(refused([](auto& o) { o.session_timeout = 1000h; }), errc::invalid_argument);
  EXPECT_EQ(refused([](auto& o) { o.connect_wait = -1ms; }), errc::invalid_argument);
  EXPECT_EQ(refused([](auto& o) { o.max_outstanding = 0; }), errc::invalid_argument);
  EXPECT_EQ(refused([](auto& o) { o.max_outstanding_bytes = 0; }), errc::invalid_argument);
  EXPECT_EQ(refused([](auto& o) { o.reconnect = nullptr; }), errc::invalid_argument);
  EXPECT_EQ(refused([](auto& o) { o.credentials.emplace_back("sasl", secret{}); }),
            errc::not_supported);
  EXPECT_EQ(code_of([&] { client{"no port:here"}; }), errc::bad_connect_string);
}

}  // namespace
}  // namespace conclave::testing
