// The order of connection attempts and their delays.

#include "session/host_rotation.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

// The hosts that are tried until that time. Each connection is refused at once.
lines attempts(virtual_loop& loop, duration until) {
  lines seen;
  const auto end = loop.now() + until;
  while (loop.now() < end) {
    while (loop.is_connecting()) {
      seen.push_back(std::to_string(loop.clock().count()) + ' ' + loop.requested_host());
      loop.refuse();
    }
    loop.advance(100ms);
  }
  return seen;
}

TEST(hosts, all_are_tried_before_the_first_delay) {
  virtual_loop loop{nine_seconds(), "one:1,two:2,three:3"};
  EXPECT_EQ(attempts(loop, 500ms), (lines{"0 one:1", "0 two:2", "0 three:3"}));
}

TEST(hosts, the_policy_gives_one_delay_per_round) {
  virtual_loop loop{nine_seconds(), "one:1,two:2"};  // 1 s, 2 s, 3 s, ...
  EXPECT_EQ(attempts(loop, 6500ms),
            (lines{"0 one:1", "0 two:2", "1000 one:1", "1000 two:2", "3000 one:1", "3000 two:2",
                   "6000 one:1", "6000 two:2"}));
}

TEST(hosts, a_single_host_is_tried_again_after_a_delay) {
  virtual_loop loop{nine_seconds(), "one:1"};
  EXPECT_EQ(attempts(loop, 3500ms), (lines{"0 one:1", "1000 one:1", "3000 one:1"}));
}

// A server that closes every connection after the handshake would be tried without a delay.
TEST(hosts, a_handshake_does_not_reset_the_delays) {
  virtual_loop loop{nine_seconds(), "one:1"};
  loop.attach();
  loop.lose_connection();
  EXPECT_FALSE(loop.is_connecting());
  loop.advance(1s);
  loop.attach();
  loop.lose_connection();
  loop.advance(1999ms);
  EXPECT_FALSE(loop.is_connecting());
  loop.advance(1ms);
  EXPECT_TRUE(loop.is_connecting());
}

TEST(hosts, a_session_resets_the_delays) {
  virtual_loop loop{nine_seconds(), "one:1,two:2"};
  attempts(loop, 4s);
  loop.advance(2s);
  ASSERT_TRUE(loop.is_connecting());
  loop.attach();
  loop.submit(get("/a"));
  loop.answer_all();
  loop.lose_connection();
  const auto begin = loop.clock();
  const auto seen = attempts(loop, 1500ms);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0], std::to_string(begin.count()) + " two:2");  // the next host, without a delay
  EXPECT_EQ(seen[1], std::to_string(begin.count()) + " one:1");
  EXPECT_EQ(seen[2], std::to_string((begin + 1s).count()) + " two:2");
}

TEST(hosts, a_connection_without_a_session_does_not_reset_the_delays) {
  virtual_loop loop{nine_seconds(), "one:1"};
  loop.accept();
  loop.lose_connection();
  EXPECT_FALSE(loop.is_connecting());
  loop.advance(1s);
  EXPECT_TRUE(loop.is_connecting());
}

TEST(hosts, a_host_that_does_not_answer_is_skipped) {
  virtual_loop loop{nine_seconds(), "one:1,two:2,three:3,four:4,five:5,six:6"};
  loop.take_commands();
  loop.advance(1499ms);
  EXPECT_TRUE(loop.take_commands().empty());
  loop.advance(1ms);
  EXPECT_EQ(loop.take_commands(), lines{"connect two:2"});
}

TEST(hosts, a_negative_delay_means_none) {
  auto options = nine_seconds();
  int asked = 0;
  options.reconnect = [&](unsigned) { return ++asked < 3 ? -5ms : 1000ms; };
  virtual_loop loop{options, "one:1"};
  EXPECT_EQ(attempts(loop, 500ms), (lines{"0 one:1", "0 one:1", "0 one:1"}));
}

TEST(hosts, are_shuffled_with_a_seed) {
  const auto where = connect_string::parse("a,b,c,d,e,f,g,h");
  const auto order = [&](std::uint64_t seed) {
    host_rotation hosts{where.hosts, nine_seconds().reconnect, seed};
    lines names;
    for (std::size_t i = 0; i < hosts.size(); ++i) names.push_back(hosts.next().host.host);
    return names;
  };
  const lines in_order{"a", "b", "c", "d", "e", "f", "g", "h"};
  EXPECT_EQ(order(0), in_order);
  EXPECT_EQ(order(5), order(5));
  EXPECT_NE(order(5), order(6));
  auto shuffled = order(7);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, in_order);
}

}  // namespace
}  // namespace conclave::session
