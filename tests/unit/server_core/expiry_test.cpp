// When sessions expire.

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

TEST(expiry, happens_exactly_at_the_timeout) {
  test_server server;
  auto& c = server.open_session(10s);
  server.pass(9999ms);
  EXPECT_TRUE(server.is_alive(c.session()));
  EXPECT_FALSE(c.closed());
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(c.session()));
  EXPECT_TRUE(c.closed());
  EXPECT_EQ(server.core().sessions().size(), 0u);
  EXPECT_EQ(server.core().next_deadline(), time_point::max());
}

TEST(expiry, takes_a_zxid) {
  test_server server;
  server.open_session(10s);
  const auto before = server.core().zxid();
  server.pass(10s);
  EXPECT_EQ(server.core().zxid(), before + 1);
  EXPECT_EQ(server.stored().zxid, before + 1);
}

TEST(expiry, every_request_postpones_it) {
  test_server server;
  auto& c = server.open_session(4s);
  for (const auto& r : {ping(), get("/"), get("/missing"), create("/a"), create("/a"), sync("/"),
                        auth("digest", "ann:secret"), set_watches(0, {}, {}, {})}) {
    server.pass(3999ms);
    c.ask(r);
  }
  server.pass(3999ms);
  EXPECT_FALSE(c.closed());
  server.pass(1ms);
  EXPECT_TRUE(c.closed());
}

// The server may stop reading from a client that reads slowly. Progress in sending is activity too.
TEST(expiry, activity_postpones_it) {
  test_server server;
  auto& c = server.open_session(4s);
  server.pass(3999ms);
  server.turn([&] { server.core().record_activity(c.id()); });
  server.pass(3999ms);
  EXPECT_FALSE(c.closed());
  server.pass(1ms);
  EXPECT_TRUE(c.closed());
}

TEST(expiry, activity_on_another_connection_does_not_postpone_it) {
  test_server server;
  auto& before = server.open_session(4s);
  auto& after = server.reconnect(before, 4s);
  auto& without_handshake = server.connect();
  server.pass(3s);
  server.turn([&] {
    server.core().record_activity(before.id());
    server.core().record_activity(without_handshake.id());
    server.core().record_activity(4711);
  });
  server.pass(1s);
  EXPECT_TRUE(after.closed());
  server.turn([&] { server.core().record_activity(after.id()); });
  EXPECT_FALSE(server.is_alive(after.session()));
}

TEST(expiry, events_do_not_postpone_it) {
  test_server server;
  auto& c = server.open_session(4s);
  c.ask(add_persistent_watch("/"));
  auto& other = server.open_local_session();
  for (int i = 0; i < 4; ++i) {
    server.pass(1s);
    other.ask(set("/", "x"));
  }
  EXPECT_TRUE(c.closed());
}

TEST(expiry, the_reported_deadline_is_never_too_late) {
  test_server server;
  EXPECT_EQ(server.core().next_deadline(), time_point::max());
  auto& longer = server.open_session(20s);
  EXPECT_EQ(server.core().next_deadline(), server.now() + 20s);
  server.open_session(10s);
  EXPECT_EQ(server.core().next_deadline(), server.now() + 10s);
  server.pass(5s);
  longer.ask(ping());
  EXPECT_EQ(server.core().next_deadline(), server.now() + 5s);
  server.pass(5s);
  EXPECT_LE(server.core().next_deadline(), server.now() + 15s);
  server.pass(14'999ms);
  EXPECT_TRUE(server.is_alive(longer.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(longer.session()));
}

TEST(expiry, sessions_expire_in_the_order_of_their_deadlines) {
  test_server server;
  std::vector<std::int64_t> sessions;
  for (int i = 0; i < 20; ++i)
    sessions.push_back(
        server.open_session(std::chrono::milliseconds{10'000 + 10 * ((7 * i) % 20)}).session());
  server.pass(9999ms);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(server.core().sessions().size(), static_cast<std::size_t>(20 - i));
    server.pass(1ms);
    EXPECT_EQ(server.core().sessions().size(), static_cast<std::size_t>(19 - i));
    server.pass(9ms);
  }
}

// --- a stalled owner

// Requests of clients wait in their sockets. The owner passes the time for which it did not read.
TEST(stall, does_not_expire_clients_whose_pings_wait) {
  test_server server;
  auto& c = server.open_session(10s);
  c.ask(create_ephemeral("/e"));
  server.pass(5s);
  server.stall(1h);
  server.turn([&] { server.core().extend_sessions(1h); });  // the ping has not been read yet
  EXPECT_TRUE(server.is_alive(c.session()));
  EXPECT_EQ(c.ask(ping()), ok);
  server.pass(9999ms);
  EXPECT_EQ(c.ask(exists("/e")), ok);
}

TEST(stall, does_not_expire_any_session) {
  test_server server;
  auto& c = server.open_session(10s);
  server.pass(5s);
  server.stall(1h);
  server.turn([&] { server.core().extend_sessions(1h); });
  server.pass(4999ms);
  EXPECT_TRUE(server.is_alive(c.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(c.session())) << "the session expires after the delay";
}

TEST(stall, a_ping_in_the_same_turn_is_enough) {
  test_server server;
  auto& c = server.open_session(10s);
  server.stall(1h);
  EXPECT_EQ(c.ask(ping()), ok);
  EXPECT_TRUE(server.is_alive(c.session()));
}

TEST(stall, an_idle_owner_is_not_stalled) {
  test_server server;
  auto& c = server.open_session(40s);
  c.disconnect();
  const auto began = server.now();
  server.pass(1h);
  EXPECT_FALSE(server.is_alive(c.session()));
  EXPECT_EQ(server.now(), began + 1h);
}

// A server with a million nodes needs seconds to load them. Clients cannot connect until then.
TEST(expiry, the_timeout_of_a_stored_session_starts_when_the_server_serves) {
  test_server server;
  const auto session = server.open_session(4s).session();
  server.crash();
  server.stall(10s);
  server.core().begin_serving({server.now(), server.wall_ms()});
  server.pass(3999ms);
  EXPECT_TRUE(server.is_alive(session));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(session));
}

}  // namespace
}  // namespace conclave::server_impl
