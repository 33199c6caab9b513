// One peer cannot use up the sessions and watches that others need.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

peer tcp_peer(const std::string& address) { return {address, 0, peer_id::of_address(address)}; }
peer socket_peer(uid_t id) { return {"", 0, peer_id::of_user(id, 990)}; }
const auto from_root = socket_peer(0);
const auto from_alice = socket_peer(1000);
const auto from_bob = socket_peer(1001);
const auto greedy = tcp_peer("10.0.0.1");
const auto modest = tcp_peer("10.0.0.2");

// Returns the number of sessions that the peer can open. Each connection is closed at once.
int begin_sessions(test_server& server, const peer& from, int wanted) {
  int begun = 0;
  for (int i = 0; i < wanted; ++i) {
    auto& c = server.open_session(10s, from);
    if (c.session() != 0) ++begun;
    c.disconnect();
  }
  return begun;
}

core_options with_session_limits(std::size_t total, std::size_t per_peer) {
  auto options = default_options();
  options.max_sessions = total;
  options.max_sessions_per_peer = per_peer;
  return options;
}

TEST(session_share, one_address_cannot_use_all_sessions) {
  test_server server{with_session_limits(10, 4)};
  EXPECT_EQ(begin_sessions(server, greedy, 6), 4);
  EXPECT_EQ(begin_sessions(server, modest, 1), 1);
  EXPECT_EQ(begin_sessions(server, from_alice, 1), 1);
  server.pass(10s);
  EXPECT_EQ(begin_sessions(server, greedy, 6), 4) << "the first sessions have expired";
}

TEST(session_share, one_user_of_the_socket_cannot_use_all_sessions) {
  test_server server{with_session_limits(10, 4)};
  EXPECT_EQ(begin_sessions(server, from_alice, 6), 4);
  EXPECT_EQ(begin_sessions(server, from_bob, 1), 1);
  EXPECT_EQ(begin_sessions(server, from_root, 10), 5) << "up to the total";
}

TEST(session_share, the_last_ones_are_reserved_for_the_unix_socket) {
  test_server server{with_session_limits(64, 0)};
  EXPECT_EQ(begin_sessions(server, greedy, 64), 60);
  EXPECT_EQ(begin_sessions(server, from_alice, 64), 2);
  EXPECT_EQ(begin_sessions(server, from_root, 64), 2);
}

TEST(session_share, a_reconnected_session_counts_for_its_new_peer) {
  test_server server{with_session_limits(10, 2)};
  auto& moved = server.open_session(10s, modest);
  EXPECT_EQ(begin_sessions(server, greedy, 3), 2);
  auto& reconnected = server.reconnect(moved, 10s, greedy);
  EXPECT_NE(reconnected.session(), 0) << "above the share";
  EXPECT_EQ(begin_sessions(server, modest, 3), 2)
      << "the session no longer counts for its old peer";
  reconnected.ask(close_session());
  EXPECT_EQ(begin_sessions(server, greedy, 1), 0) << "the other two still count";
}

TEST(session_share, stored_sessions_count_for_the_peer_that_reconnects) {
  test_server server{with_session_limits(10, 2)};
  std::vector<client*> before;
  for (int i = 0; i < 2; ++i) before.push_back(&server.open_session(10s, greedy));
  server.crash();
  server.reconnect(*before[0], 10s, greedy);
  EXPECT_EQ(begin_sessions(server, greedy, 2), 1);
  EXPECT_NE(server.reconnect(*before[1], 10s, greedy).session(), 0);
}

TEST(session_share, peers_without_connections_and_sessions_are_forgotten) {
  test_server server;
  for (int i = 0; i < 9; ++i) begin_sessions(server, tcp_peer("10.0.1." + std::to_string(i)), 1);
  server.connect(modest).disconnect();
  EXPECT_EQ(server.core().peers().size(), 9u);
  server.pass(10s);
  EXPECT_EQ(server.core().peers().size(), 0u);
}

// Returns the number of watches that the connection can set.
int set_watches_one_by_one(client& c, int wanted) {
  int set = 0;
  for (int i = 0; i < wanted; ++i)
    if (c.ask(exists("/" + std::to_string(i), watched)) == errc::no_node) ++set;
  return set;
}

core_options with_watch_limits(std::size_t total, std::size_t per_peer) {
  auto options = default_options();
  options.max_watches = total;
  options.max_watches_per_peer = per_peer;
  return options;
}

TEST(watch_share, many_connections_of_one_peer_cannot_use_all_watches) {
  test_server server{with_watch_limits(10, 4)};
  for (const auto& from : {greedy, from_alice}) {
    auto& first = server.open_session(10s, from);
    auto& second = server.open_session(10s, from);
    EXPECT_EQ(set_watches_one_by_one(first, 3), 3);
    EXPECT_EQ(set_watches_one_by_one(second, 3), 1);
    EXPECT_EQ(second.ask(set_watches(0, {}, {"/8"}, {})), errc::quota_exceeded);
    EXPECT_EQ(second.ask(add_persistent_watch("/8")), errc::quota_exceeded);
  }
  EXPECT_EQ(set_watches_one_by_one(server.open_session(10s, modest), 1), 1);
  EXPECT_EQ(set_watches_one_by_one(server.open_session(10s, from_root), 9), 1) << "up to the total";
}

TEST(watch_share, is_free_again_when_watches_fire_or_are_removed_or_their_connection_closes) {
  test_server server{with_watch_limits(10, 3)};
  auto& first = server.open_session(10s, greedy);
  auto& second = server.open_session(10s, greedy);
  EXPECT_EQ(set_watches_one_by_one(first, 3), 3);
  EXPECT_EQ(set_watches_one_by_one(second, 1), 0);
  second.ask(create("/0"));
  EXPECT_EQ(second.ask(exists("/8", watched)), errc::no_node) << "one has fired";
  first.ask(remove_watches("/1"));
  EXPECT_EQ(second.ask(exists("/9", watched)), errc::no_node) << "one was removed";
  EXPECT_EQ(second.ask(exists("/10", watched)), errc::quota_exceeded);
  first.disconnect();
  EXPECT_EQ(second.ask(exists("/10", watched)), errc::no_node);
  EXPECT_EQ(second.ask(exists("/11", watched)), errc::quota_exceeded);
}

TEST(watch_share, counts_the_bytes_of_the_paths) {
  auto options = default_options();
  options.max_watched_bytes = 10'000;
  options.max_watched_bytes_per_peer = 500;
  test_server server{options};
  auto& first = server.open_session(10s, greedy);
  EXPECT_EQ(first.ask(exists("/" + std::string(600, 'x'), watched)), errc::no_node);
  EXPECT_EQ(set_watches_one_by_one(server.open_session(10s, greedy), 1), 0);
  EXPECT_EQ(set_watches_one_by_one(server.open_session(10s, modest), 1), 1);
}

TEST(watch_share, the_last_ones_are_reserved_for_the_unix_socket) {
  test_server server{with_watch_limits(64, 0)};
  EXPECT_EQ(set_watches_one_by_one(server.open_session(10s, greedy), 64), 60);
  EXPECT_EQ(set_watches_one_by_one(server.open_session(10s, from_alice), 64), 2);
  EXPECT_EQ(set_watches_one_by_one(server.open_session(10s, from_root), 64), 2);
}

}  // namespace
}  // namespace conclave::server_impl
