// The first message of a connection: new sessions and reconnects.

#include <string>

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

using connect_parameters = test_server::connect_parameters;

TEST(handshake, each_session_gets_its_own_id_and_password) {
  test_server server;
  const auto& a = server.open_session();
  const auto& b = server.open_session();
  EXPECT_NE(a.session(), 0);
  EXPECT_NE(a.session(), b.session());
  EXPECT_NE(a.handshake()->password, b.handshake()->password);
  EXPECT_NE(a.handshake()->password, std::string(16, '\0'));
  EXPECT_EQ(server.core().session_of(a.id()), a.session());
  EXPECT_EQ(a.session() & ~0x00ff'ffff'ffff'ffff, 0) << "the highest byte marks TTL nodes";
}

TEST(handshake, a_new_session_uses_a_zxid_and_is_stored) {
  test_server server;
  const auto before = server.core().zxid();
  const auto& a = server.open_session(12s);
  EXPECT_EQ(server.core().zxid(), before + 1);
  const auto& row = server.stored().sessions.at(a.session());
  EXPECT_EQ(row.timeout_ms, 12'000);
  EXPECT_EQ((std::string{row.password.data(), row.password.size()}), a.handshake()->password);
}

TEST(handshake, the_timeout_is_clamped_to_the_limits) {
  test_server server;  // the limits are 4 s and 40 s
  EXPECT_EQ(server.open_session(10s).handshake()->timeout_ms, 10'000);
  EXPECT_EQ(server.open_session(4s).handshake()->timeout_ms, 4000);
  EXPECT_EQ(server.open_session(3999ms).handshake()->timeout_ms, 4000);
  EXPECT_EQ(server.open_session(0ms).handshake()->timeout_ms, 4000);
  EXPECT_EQ(server.open_session(-5s).handshake()->timeout_ms, 4000);
  EXPECT_EQ(server.open_session(40s).handshake()->timeout_ms, 40'000);
  EXPECT_EQ(server.open_session(41s).handshake()->timeout_ms, 40'000);
}

TEST(handshake, the_reply_has_the_read_only_byte_if_the_request_had_it) {
  test_server server;
  const auto answered = [&](std::optional<bool> sent) {
    auto& c = server.connect();
    connect_parameters h;
    h.read_only = sent;
    server.handshake(c, h);
    return c.handshake()->read_only;
  };
  EXPECT_EQ(answered(std::nullopt), std::nullopt);
  EXPECT_EQ(answered(false), false);
  EXPECT_EQ(answered(true), false) << "the server is not read-only";
}

TEST(handshake, a_refusal_has_the_read_only_byte_if_the_request_had_it) {
  test_server server;
  for (const std::optional<bool> sent : {std::optional<bool>{}, std::optional<bool>{true}}) {
    auto& c = server.connect();
    connect_parameters h;
    h.session = 0x1234;
    h.read_only = sent;
    server.handshake(c, h);
    ASSERT_TRUE(c.handshake());
    EXPECT_EQ(c.handshake()->session, 0);
    EXPECT_EQ(c.handshake()->read_only.has_value(), sent.has_value());
  }
}

TEST(handshake, requests_sent_with_it_are_served) {
  test_server server;
  auto& c = server.connect();
  server.turn([&] {
    server.handshake(c, {});
    c.send(create("/a"));
    c.send(get("/a"));
  });
  EXPECT_TRUE(c.handshake());
  EXPECT_EQ(c.next_reply(), ok);
  EXPECT_EQ(c.next_reply(), ok);
}

// --- reconnects

TEST(reconnect, moves_the_session_and_closes_the_old_connection) {
  test_server server;
  auto& before = server.open_session();
  before.ask(create_ephemeral("/e"));
  auto& after = server.reconnect(before);
  EXPECT_TRUE(before.closed());
  EXPECT_FALSE(after.closed());
  EXPECT_EQ(after.session(), before.session());
  EXPECT_EQ(after.handshake()->password, before.handshake()->password);
  EXPECT_EQ(server.core().session_of(before.id()), 0);
  EXPECT_EQ(after.ask(get("/e")).stat.ephemeral_owner, before.session());
}

TEST(reconnect, uses_no_zxid) {
  test_server server;
  auto& before = server.open_session();
  before.disconnect();
  const auto zxid = server.core().zxid();
  const auto commits = server.commits();
  server.reconnect(before);
  EXPECT_EQ(server.core().zxid(), zxid);
  EXPECT_EQ(server.commits(), commits);
}

TEST(reconnect, the_close_of_the_old_connection_does_not_detach_the_session) {
  test_server server;
  auto& before = server.open_session();
  server.turn([&] {
    auto& after = server.reconnect(before);
    server.core().disconnected(before.id());  // the close of its socket arrives late
    after.send(create_ephemeral("/e"));
  });
  EXPECT_FALSE(server.core().awaits_reconnect(before.session()));
  EXPECT_TRUE(server.stored().nodes.contains("/e"));
}

TEST(reconnect, removes_the_watches_of_the_old_connection) {
  test_server server;
  auto& before = server.open_session();
  before.ask(get("/", watched));
  before.ask(children("/", watched));
  auto& after = server.reconnect(before);
  after.ask(create("/a"));
  after.ask(set("/", "x"));
  EXPECT_TRUE(after.take_events().empty());
  EXPECT_EQ(server.core().data_watches().count(), 0u);
  EXPECT_EQ(server.core().child_watches().count(), 0u);
}

TEST(reconnect, with_another_timeout_changes_the_timeout) {
  test_server server;
  auto& before = server.open_session(6s);
  const auto& after = server.reconnect(before, 20s);
  EXPECT_EQ(after.handshake()->timeout_ms, 20'000);
  EXPECT_EQ(server.stored().sessions.at(after.session()).timeout_ms, 20'000);
}

TEST(reconnect, with_a_shorter_timeout_expires_earlier) {
  test_server server;
  auto& before = server.open_session(40s);
  auto& after = server.reconnect(before, 4s);
  EXPECT_EQ(after.handshake()->timeout_ms, 4000);
  after.ask(ping());
  EXPECT_EQ(server.stored().sessions.at(after.session()).timeout_ms, 4000);
  server.pass(3999ms);
  EXPECT_TRUE(server.is_alive(after.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(after.session()));
}

// The client may not receive the reply. It then relies on the longer timeout.
TEST(reconnect, with_a_shorter_timeout_and_without_a_request_does_not_expire_earlier) {
  test_server server;
  auto& before = server.open_session(40s);
  const auto& after = server.reconnect(before, 4s);
  server.pass(39'999ms);
  EXPECT_TRUE(server.is_alive(after.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(after.session()));
}

TEST(reconnect, with_a_longer_timeout_expires_later) {
  test_server server;
  auto& before = server.open_session(4s);
  const auto& after = server.reconnect(before, 40s);
  server.pass(39'999ms);
  EXPECT_TRUE(server.is_alive(after.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(after.session()));
}

TEST(reconnect, works_after_a_crash) {
  test_server server;
  auto& before = server.open_session();
  before.ask(create_ephemeral("/e"));
  server.crash();
  auto& after = server.reconnect(before);
  EXPECT_EQ(after.session(), before.session());
  EXPECT_EQ(after.ask(exists("/e")), ok);
}

// Expects a response without a session and a closed connection.
void expect_refused(const client& c) {
  ASSERT_TRUE(c.handshake());
  EXPECT_EQ(c.handshake()->session, 0);
  EXPECT_EQ(c.handshake()->timeout_ms, 0);
  EXPECT_EQ(c.handshake()->password, std::string(16, '\0'));
  EXPECT_TRUE(c.closed());
}

TEST(reconnect, with_a_wrong_password_is_refused) {
  test_server server;
  auto& owner = server.open_session();
  const auto& right = owner.handshake()->password;
  auto last_byte = right;
  last_byte.back() ^= 1;
  for (const auto& wrong : {std::string(16, '\0'), std::string{}, right.substr(0, 15), right + "x",
                            last_byte, std::string(1000, 'x')}) {
    auto& thief = server.connect();
    connect_parameters h;
    h.session = owner.session();
    h.password = wrong;
    server.handshake(thief, h);
    expect_refused(thief);
  }
  EXPECT_FALSE(owner.closed()) << "a wrong password must not affect the session";
  EXPECT_EQ(owner.ask(ping()), ok);
}

TEST(reconnect, after_an_expiry_is_refused) {
  test_server server;
  auto& before = server.open_session(10s);
  before.disconnect();
  server.pass(10s);
  expect_refused(server.reconnect(before));
}

TEST(reconnect, after_a_close_is_refused) {
  test_server server;
  auto& before = server.open_session();
  EXPECT_EQ(before.ask(close_session()), ok);
  expect_refused(server.reconnect(before));
}

TEST(reconnect, to_an_unknown_session_is_refused) {
  test_server server;
  auto& c = server.connect();
  connect_parameters h;
  h.session = -1;
  server.handshake(c, h);
  expect_refused(c);
}

TEST(reconnect, requests_of_a_refused_client_are_ignored) {
  test_server server;
  auto& c = server.connect();
  connect_parameters h;
  h.session = 42;
  server.turn([&] {
    server.handshake(c, h);
    c.send(create("/a"));
  });
  EXPECT_TRUE(c.closed());
  EXPECT_FALSE(server.stored().nodes.contains("/a"));
}

// --- refused without a reply

TEST(handshake, is_refused_when_all_sessions_are_in_use) {
  auto options = default_options();
  options.max_sessions = 2;
  test_server server{options};
  auto& a = server.open_session();
  server.open_session();
  auto& third = server.open_session();
  EXPECT_TRUE(third.closed());
  EXPECT_FALSE(third.handshake());
  EXPECT_FALSE(server.reconnect(a).closed()) << "the session exists already";
  server.open_session();
  EXPECT_EQ(server.core().sessions().size(), 2u);
}

TEST(handshake, is_accepted_again_when_a_session_ends) {
  auto options = default_options();
  options.max_sessions = 1;
  test_server server{options};
  server.open_session().ask(close_session());
  EXPECT_FALSE(server.open_session().closed());
}

TEST(handshake, truncated_at_any_byte) {
  test_server server;
  std::string whole;
  wire::writer{whole}(wire::connect_request{0, 0, 10'000, 0, std::string(16, '\0')});
  for (std::size_t n = 0; n < whole.size(); ++n) {
    auto& c = server.connect();
    c.send_bytes(std::string_view{whole}.substr(0, n));
    EXPECT_TRUE(c.closed()) << n;
    EXPECT_FALSE(c.handshake()) << n;
  }
  EXPECT_EQ(server.core().sessions().size(), 0u);
}

// --- disconnect and close

TEST(notes, report_changes_of_sessions) {
  lines notes;
  auto options = default_options();
  options.max_sessions = 3;
  options.log_session = [&](std::string_view text) {
    EXPECT_TRUE(text.starts_with("session 0x")) << text;
    notes.emplace_back(text.substr(text.find(' ', 8) + 1));
  };
  test_server server{options};
  auto& closed = server.open_session();
  auto& expired = server.open_session(10s);
  auto& bound = server.open_local_session();
  EXPECT_EQ(notes, (lines{"began", "began", "began"}));
  notes.clear();
  server.open_session();
  server.reconnect(closed).ask(close_session());
  bound.disconnect();
  server.turn([&] { server.core().process_ended(bound.session()); });
  expired.disconnect();
  server.pass(10s);
  server.core().set_writable(false);
  server.open_session();
  EXPECT_EQ(notes, (lines{"refused: there are too many", "was closed by its client",
                          "ended with its process", "expired", "refused: nothing can be stored"}));
}

TEST(disconnect, keeps_the_session_until_its_timeout) {
  test_server server;
  auto& c = server.open_session(10s);
  c.ask(create_ephemeral("/e"));
  server.pass(7s);
  c.ask(ping());
  c.disconnect();
  EXPECT_TRUE(server.core().awaits_reconnect(c.session()));
  server.pass(9999ms);
  EXPECT_TRUE(server.is_alive(c.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(c.session()));
  EXPECT_FALSE(server.stored().nodes.contains("/e"));
}

TEST(disconnect, works_in_the_turn_of_a_request) {
  test_server server;
  auto& c = server.open_session();
  server.turn([&] {
    c.send(create("/a"));
    c.disconnect();
  });
  EXPECT_TRUE(server.stored().nodes.contains("/a"));
  EXPECT_TRUE(server.core().awaits_reconnect(c.session()));
}

TEST(disconnect, works_before_the_handshake) {
  test_server server;
  server.connect().disconnect();
  EXPECT_EQ(server.core().sessions().size(), 0u);
}

TEST(close_session, is_answered_before_the_connection_is_closed) {
  test_server server;
  auto& c = server.open_session();
  const auto before = server.core().zxid();
  server.turn([&] {
    c.send(close_session());
    c.send(create("/late"));
  });
  const auto closed = c.next_reply();
  EXPECT_EQ(closed, ok);
  EXPECT_EQ(closed.zxid, before + 1);
  EXPECT_TRUE(c.closed());
  EXPECT_EQ(c.unread_replies(), 0u);
  EXPECT_FALSE(server.is_alive(c.session()));
  EXPECT_TRUE(server.stored().sessions.empty());
  EXPECT_FALSE(server.stored().nodes.contains("/late"));
}

TEST(close_session, works_in_the_turn_that_started_the_session) {
  test_server server;
  auto& c = server.connect();
  const auto before = server.core().zxid();
  server.turn([&] {
    server.handshake(c, {});
    c.send(close_session());
  });
  EXPECT_EQ(c.next_reply().zxid, before + 2);
  EXPECT_TRUE(server.stored().sessions.empty());
  server.crash();
  EXPECT_GE(server.core().zxid(), before + 2) << "the client was notified";
}

}  // namespace
}  // namespace conclave::server_impl
