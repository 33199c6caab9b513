// Sessions over a Unix socket. They live while a process keeps the connection open.

#include <gtest/gtest.h>

#include "test_server.hpp"
#include "wire/keep_session.hpp"

namespace conclave::server_impl {
namespace {

TEST(process_bound, does_not_expire_while_connected) {
  test_server server;
  auto& c = server.open_local_session(4s);
  c.ask(create_ephemeral("/e"));
  server.pass(24h);
  EXPECT_TRUE(server.is_alive(c.session()));
  EXPECT_EQ(c.ask(exists("/e")), ok);
}

TEST(process_bound, every_handshake_reports_the_binding) {
  test_server server;
  auto& c = server.open_local_session(4s);
  EXPECT_EQ(c.handshake()->process_binding, from_socket.process_binding);
  EXPECT_EQ(server.reconnect(c, 4s, {"", 4712}).handshake()->process_binding, 4712);
  EXPECT_EQ(server.reconnect(c, 4s, {"127.0.0.1", 0}).handshake()->process_binding, 0);
}

// A relay is in between, or one side does not know its binding. Then the session can expire.
TEST(process_bound, requires_the_same_binding_of_the_client) {
  for (const std::int32_t sent : {0, 1, 4712}) {
    test_server server;
    auto& c = server.connect(from_socket);
    test_server::connect_parameters h;
    h.timeout = 4s;
    h.process_binding = sent;
    server.handshake(c, h);
    EXPECT_EQ(c.handshake()->process_binding, 0);
    EXPECT_FALSE(server.core().is_process_bound(c.id()));
    server.pass(3999ms);
    EXPECT_TRUE(server.is_alive(c.session()));
    server.pass(1ms);
    EXPECT_FALSE(server.is_alive(c.session()));
  }
}

TEST(process_bound, requires_a_known_binding) {
  test_server server;
  auto& c = server.open_session(4s, {"", 0});
  EXPECT_EQ(c.handshake()->process_binding, 0);
  server.pass(4s);
  EXPECT_FALSE(server.is_alive(c.session()));
}

TEST(process_bound, does_not_wake_the_owner) {
  test_server server;
  server.open_local_session(4s);
  server.pass(10s);
  EXPECT_EQ(server.core().next_deadline(), time_point::max());
}

TEST(process_bound, can_reconnect_within_its_timeout) {
  test_server server;
  auto& c = server.open_local_session(4s);
  server.pass(1h);
  c.disconnect();
  EXPECT_EQ(server.core().next_deadline(), server.now() + 4s);
  server.pass(3999ms);
  EXPECT_TRUE(server.is_alive(c.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(c.session()));
}

TEST(process_bound, the_timeout_counts_from_the_connection_loss) {
  test_server server;
  auto& c = server.open_local_session(4s);
  server.pass(3s);
  c.disconnect();  // its first entry in the expiry queue still exists
  server.pass(3999ms);
  EXPECT_TRUE(server.is_alive(c.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(c.session()));
}

TEST(process_bound, is_bound_again_after_a_reconnect) {
  test_server server;
  auto& c = server.open_local_session(4s);
  c.disconnect();
  server.pass(3s);
  auto& again = server.reconnect(c, 4s, from_socket);
  server.pass(24h);
  EXPECT_TRUE(server.is_alive(again.session()));
}

TEST(process_bound, can_expire_after_a_reconnect_over_tcp) {
  test_server server;
  auto& c = server.open_local_session(4s);
  server.pass(1h);
  auto& over_tcp = server.reconnect(c, 4s);
  server.pass(3s);
  EXPECT_EQ(over_tcp.ask(ping()), ok);
  server.pass(3999ms);
  EXPECT_TRUE(server.is_alive(c.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(c.session()));
  EXPECT_TRUE(over_tcp.closed());
}

TEST(process_bound, a_tcp_session_is_bound_after_a_reconnect_over_the_socket) {
  test_server server;
  auto& c = server.open_session(4s);
  auto& bound = server.reconnect(c, 4s, from_socket);
  server.pass(24h);
  EXPECT_TRUE(server.is_alive(bound.session()));
  EXPECT_FALSE(bound.closed());
}

TEST(process_bound, has_its_timeout_after_a_crash) {
  test_server server;
  auto& c = server.open_local_session(4s);
  server.pass(1h);
  server.crash();
  server.pass(3999ms);
  EXPECT_TRUE(server.is_alive(c.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(c.session()));
}

// --- the process has ended

TEST(process_ended, ends_the_session_at_once) {
  test_server server;
  auto& c = server.open_local_session(40s);
  c.ask(create_ephemeral("/e"));
  auto& waiting = server.open_session();
  waiting.ask(exists("/e", watched));
  c.disconnect();
  EXPECT_EQ(waiting.take_events(), lines{});
  const auto before = server.core().zxid();
  server.turn([&] { server.core().process_ended(c.session()); });
  EXPECT_EQ(waiting.take_events(), lines{"removed /e"});
  EXPECT_EQ(server.core().zxid(), before + 1);
  EXPECT_FALSE(server.is_alive(c.session()));
  EXPECT_FALSE(server.stored().sessions.contains(c.session()));
}

TEST(process_ended, does_not_end_a_session_that_reconnected) {
  test_server server;
  auto& c = server.open_local_session(10s);
  c.disconnect();
  auto& again = server.reconnect(c, 10s, from_socket);  // a child that inherited the session
  const auto before = server.core().zxid();
  server.turn([&] { server.core().process_ended(c.session()); });
  EXPECT_EQ(server.core().zxid(), before);
  EXPECT_EQ(again.ask(create_ephemeral("/e")), ok);
}

// After a restart, other processes that keep the session may not have reconnected yet.
TEST(process_ended, waits_for_keepers_after_a_crash) {
  for (const bool kept : {false, true}) {
    test_server server;
    auto& c = server.open_local_session(40s);
    server.crash();
    server.reconnect(c, 40s, from_socket).disconnect();
    server.turn([&] { server.core().process_ended(c.session()); });
    server.pass(900ms);
    EXPECT_TRUE(server.is_alive(c.session()));
    if (kept) {
      test_server::connect_parameters h;
      h.session = c.session();
      h.password = c.handshake()->password;
      h.process_binding = wire::keep_session_version;
      h.seen_zxid = wire::keep_session_zxid;
      server.handshake(server.connect(from_socket), h);
    }
    server.pass(1s);
    EXPECT_EQ(server.is_alive(c.session()), kept);
  }
}

TEST(process_ended, has_no_effect_on_an_unknown_session) {
  test_server server;
  auto& c = server.open_local_session(4s);
  c.disconnect();
  server.pass(4s);
  const auto before = server.core().zxid();
  server.turn([&] {
    server.core().process_ended(c.session());
    server.core().process_ended(0);
    server.core().process_ended(4711);
  });
  EXPECT_EQ(server.core().zxid(), before);
}

TEST(awaits_reconnect, is_true_while_the_client_can_reconnect) {
  test_server server;
  auto& c = server.open_local_session(4s);
  EXPECT_FALSE(server.core().awaits_reconnect(c.session()));
  c.disconnect();
  EXPECT_TRUE(server.core().awaits_reconnect(c.session()));
  server.pass(4s);
  EXPECT_FALSE(server.core().awaits_reconnect(c.session()));
  EXPECT_FALSE(server.core().awaits_reconnect(0));
}

}  // namespace
}  // namespace conclave::server_impl
