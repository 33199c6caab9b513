// Limits for open connections, in total and for each peer.

#include "server/core/admission.hpp"

#include <gtest/gtest.h>

namespace conclave::server_impl {
namespace {

using verdict = admission::verdict;

peer_id address(const std::string& text) { return peer_id::of_address(text); }

constexpr uid_t server_user = 990;
const auto id_of_root = peer_id::of_user(0, server_user);
const auto id_of_server_user = peer_id::of_user(server_user, server_user);
const auto id_of_alice = peer_id::of_user(1000, server_user);
const auto id_of_bob = peer_id::of_user(1001, server_user);

TEST(admission, all_connections_count) {
  admission a{{3, 0}};
  a.opened(address("10.0.0.1"));
  a.opened(address("10.0.0.1"));
  EXPECT_EQ(a.check(address("10.0.0.2")), verdict::admitted);
  a.opened(id_of_root);
  EXPECT_EQ(a.check(address("10.0.0.2")), verdict::server_full);
  EXPECT_EQ(a.check(id_of_root), verdict::server_full);
  a.closed(address("10.0.0.1"));
  EXPECT_EQ(a.check(address("10.0.0.2")), verdict::admitted);
}

TEST(admission, an_address_is_limited_to_its_share) {
  admission a{{100, 2}};
  a.opened(address("10.0.0.1"));
  a.opened(address("10.0.0.1"));
  EXPECT_EQ(a.check(address("10.0.0.1")), verdict::peer_full);
  EXPECT_EQ(a.check(address("10.0.0.2")), verdict::admitted);
  EXPECT_EQ(a.check(id_of_alice), verdict::admitted);
  a.closed(address("10.0.0.1"));
  EXPECT_EQ(a.check(address("10.0.0.1")), verdict::admitted);
}

TEST(admission, a_user_of_the_unix_socket_is_limited_to_its_share) {
  admission a{{100, 2}};
  a.opened(id_of_alice);
  a.opened(id_of_alice);
  EXPECT_EQ(a.check(id_of_alice), verdict::peer_full);
  EXPECT_EQ(a.check(id_of_bob), verdict::admitted);
  EXPECT_EQ(a.check(address("10.0.0.1")), verdict::admitted);
  a.closed(id_of_alice);
  EXPECT_EQ(a.check(id_of_alice), verdict::admitted);
}

TEST(admission, only_the_total_limits_root_and_the_servers_user) {
  admission a{{10, 2}};
  for (int i = 0; i < 5; ++i) a.opened(id_of_server_user);
  EXPECT_EQ(a.check(id_of_server_user), verdict::admitted);
  for (int i = 0; i < 5; ++i) a.opened(id_of_root);
  EXPECT_EQ(a.check(id_of_root), verdict::server_full);
}

TEST(admission, addresses_of_one_host_count_as_one) {
  EXPECT_EQ(address("127.0.0.1"), address("127.9.8.7"));
  EXPECT_EQ(address("2001:db8:1:2::1"), address("2001:db8:1:2:3::9"));
  EXPECT_NE(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
  EXPECT_EQ(address("fe80::1%eth0"), address("fe80::2"));
  EXPECT_NE(address("10.0.0.1"), address("10.0.0.2"));
}

// An address without a connection uses no memory.
TEST(admission, forgets_peers_without_a_connection) {
  admission a{{3, 2}};
  a.opened(address("10.0.0.1"));
  a.opened(address("10.0.0.2"));
  a.opened(id_of_alice);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(a.check(address("10.1.0." + std::to_string(i))), verdict::server_full);
  EXPECT_EQ(a.peers(), 3u);
  a.closed(address("10.0.0.2"));
  a.closed(id_of_alice);
  EXPECT_EQ(a.peers(), 1u);
}

TEST(admission, the_last_connections_are_reserved_for_the_unix_socket_and_reconnects) {
  const admission a{{160, 0}};
  EXPECT_TRUE(a.may_begin_session(peer_kind::network, 139));
  EXPECT_FALSE(a.may_begin_session(peer_kind::network, 140));
  EXPECT_TRUE(a.may_begin_session(peer_kind::user, 144));
  EXPECT_FALSE(a.may_begin_session(peer_kind::user, 145));
  EXPECT_TRUE(a.may_begin_session(peer_kind::owner, 149));
  EXPECT_FALSE(a.may_begin_session(peer_kind::owner, 150));
}

TEST(admission, a_small_server_reserves_none) {
  const admission a{{5, 0}};
  EXPECT_TRUE(a.may_begin_session(peer_kind::network, 4));
  EXPECT_FALSE(a.may_begin_session(peer_kind::owner, 5));
}

TEST(fair_share, the_default_is_a_quarter_and_not_below_apaches) {
  EXPECT_EQ(fair_share::default_per_peer(16'000), 4000u);
  EXPECT_EQ(fair_share::default_per_peer(100), 60u);
}

TEST(fair_share, the_last_sixteenth_is_reserved_for_the_unix_socket) {
  constexpr fair_share s{160, 100};
  EXPECT_EQ(s.check(peer_kind::network, 0, 149, 1), verdict::admitted);
  EXPECT_EQ(s.check(peer_kind::network, 0, 150, 1), verdict::server_full);
  EXPECT_EQ(s.check(peer_kind::user, 0, 154, 1), verdict::admitted);
  EXPECT_EQ(s.check(peer_kind::user, 0, 155, 1), verdict::server_full);
  EXPECT_EQ(s.check(peer_kind::owner, 159, 159, 1), verdict::admitted);
  EXPECT_EQ(s.check(peer_kind::owner, 160, 160, 1), verdict::server_full);
}

TEST(fair_share, a_peer_cannot_use_more_than_its_share) {
  constexpr fair_share s{160, 40};
  for (const auto kind : {peer_kind::network, peer_kind::user}) {
    EXPECT_EQ(s.check(kind, 38, 38, 2), verdict::admitted);
    EXPECT_EQ(s.check(kind, 39, 39, 2), verdict::peer_full);
  }
  EXPECT_EQ(s.check(peer_kind::owner, 39, 39, 2), verdict::admitted);
  EXPECT_EQ((fair_share{160, 0}.check(peer_kind::network, 100, 100, 2)), verdict::admitted);
}

}  // namespace
}  // namespace conclave::server_impl
