// Limits for connections and sessions.
#include <memory>
#include <vector>

#include "integration/harness.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"
#include "server/statistics.hpp"

namespace conclave::testing {
namespace {

using sessions = std::vector<std::unique_ptr<raw_session>>;

bool can_connect(sessions& all, const std::string& address) {
  all.push_back(std::make_unique<raw_session>(address));
  return all.back()->handshake(10'000);
}

TEST(connection_limits, a_connection_above_the_limit_is_refused) {
  serve_process server{{"--durability", "none", "--listen", "0", "--max-connections", "5"}};
  sessions all;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(can_connect(all, i < 3 ? server.tcp() : server.socket()));
  EXPECT_FALSE(can_connect(all, server.tcp()));
  EXPECT_FALSE(can_connect(all, server.socket()));
  EXPECT_TRUE(server.prints("refused: too many connections"));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(all[i]->exists("/"), 0);

  all[2].reset();
  EXPECT_TRUE(eventually([&] { return can_connect(all, server.tcp()); }));
}

TEST(connection_limits, a_connection_without_a_handshake_is_closed_for_a_new_one) {
  serve_process server{{"--durability", "none", "--listen", "0", "--max-connections", "3"}};
  sessions all;
  ASSERT_TRUE(can_connect(all, server.tcp()));
  auto first = connect_to(server.tcp());
  auto second = connect_to(server.tcp());
  ASSERT_TRUE(can_connect(all, server.tcp()));
  EXPECT_TRUE(is_ended(first)) << "it has waited longest";
  ASSERT_TRUE(can_connect(all, server.tcp()));
  EXPECT_TRUE(is_ended(second));
  for (const auto& s : all) EXPECT_EQ(s->exists("/"), 0);
}

TEST(connection_limits, one_address_has_a_limit) {
  serve_process server{
      {"--durability", "none", "--listen", "0", "--max-connections-per-address", "3"}};
  sessions all;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(can_connect(all, server.tcp()));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(can_connect(all, server.tcp()));
  EXPECT_TRUE(server.prints("refused: too many connections from its address"));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(can_connect(all, server.socket())) << "it has no address";
  all[0].reset();
  EXPECT_TRUE(eventually([&] { return can_connect(all, server.tcp()); }));
  EXPECT_FALSE(can_connect(all, server.tcp()));
}

// An eighth is reserved: of 32, two for the Unix socket and two for sessions that reconnect.
TEST(connection_limits, tcp_cannot_use_connections_reserved_for_the_socket_and_for_reconnects) {
  serve_process server{{"--durability", "none", "--listen", "0", "--max-connections", "32"}};
  sessions all;
  for (int i = 0; i < 28; ++i) ASSERT_TRUE(can_connect(all, server.tcp()));
  EXPECT_FALSE(can_connect(all, server.tcp()));
  EXPECT_TRUE(server.prints("refused: too many connections"));
  EXPECT_TRUE(can_connect(all, server.socket()));

  // Another connection uses the free place before the session reconnects.
  all[0]->link.reset();
  EXPECT_TRUE(eventually([&] { return can_connect(all, server.socket()); }));
  EXPECT_TRUE(can_connect(all, server.socket()));
  EXPECT_FALSE(can_connect(all, server.socket()));
  EXPECT_FALSE(can_connect(all, server.tcp()));
  raw_session again{server.tcp()};
  EXPECT_TRUE(again.reconnect(*all[0]));
  EXPECT_EQ(again.exists("/"), 0);
}

// The default is a quarter of all, but at least 60.
TEST(connection_limits, one_address_cannot_use_all_connections) {
  serve_process server{{"--durability", "none", "--listen", "0", "--max-connections", "100"}};
  sessions all;
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(can_connect(all, server.tcp()));
  EXPECT_FALSE(can_connect(all, server.tcp()));
  EXPECT_TRUE(server.prints("refused: too many connections from its address"));
  EXPECT_TRUE(can_connect(all, server.socket()));
}

TEST(connection_limits, a_connection_without_a_handshake_is_closed_for_its_own_address) {
  serve_process server{
      {"--durability", "none", "--listen", "0", "--max-connections-per-address", "3"}};
  auto local = connect_to(server.socket());
  sessions all;
  ASSERT_TRUE(can_connect(all, server.tcp()));
  auto first = connect_to(server.tcp());
  auto second = connect_to(server.tcp());
  ASSERT_TRUE(can_connect(all, server.tcp()));
  EXPECT_TRUE(is_ended(first)) << "it has waited longest";
  ASSERT_TRUE(can_connect(all, server.tcp()));
  EXPECT_TRUE(is_ended(second));
  EXPECT_FALSE(can_connect(all, server.tcp()));
  EXPECT_FALSE(is_ended(local, 0ms));
}

TEST(connection_limits, the_number_of_sessions_is_limited) {
  serve_process server{{"--durability", "none", "--listen", "0", "--max-sessions", "3"}};
  sessions all;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(can_connect(all, server.tcp()));
  EXPECT_FALSE(can_connect(all, server.tcp()));
  EXPECT_FALSE(can_connect(all, server.socket()));
  raw_session again{server.tcp()};
  EXPECT_TRUE(again.reconnect(*all[1])) << "this session existed before";
  EXPECT_EQ(again.call(request(1, op::close_session)).error, 0);
  EXPECT_TRUE(can_connect(all, server.socket()));
}

}  // namespace
}  // namespace conclave::testing
