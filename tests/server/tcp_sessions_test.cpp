// Sessions on TCP live by ZooKeeper's rules: by what was heard, and by nothing else.
#include <signal.h>

#include "integration/harness.hpp"
#include "server/acting.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"

namespace conclave::testing {
namespace {

using clock = std::chrono::steady_clock;

class tcp_sessions : public ::testing::Test {
 protected:
  serve_process server{{"--durability", "none", "--listen", "0", "--tick", "100ms"}};
  client zk{server.socket()};
};

TEST_F(tcp_sessions, a_killed_client_is_gone_after_its_timeout_and_not_before) {
  constexpr auto timeout = 1200ms;
  watch_recorder made;
  ASSERT_FALSE(zk.exists("/held", made.get()));
  child_process holder{actor("hold", server.tcp(), timeout.count(), "/held")};
  ASSERT_TRUE(made.take());
  inbox<clock::time_point> gone;
  ASSERT_TRUE(zk.exists("/held", [&](const watch_event&) { gone.put(clock::now()); }));
  const auto killed = clock::now();
  holder.kill(SIGKILL);
  const auto when = gone.take();
  ASSERT_TRUE(when);
  // It pinged at least every third of the timeout.
  EXPECT_GE(*when - killed, timeout / 2);
}

TEST_F(tcp_sessions, a_silent_client_is_gone_after_its_timeout) {
  raw_session silent{server.tcp()};
  ASSERT_TRUE(silent.greet(400));
  const auto last_heard = clock::now();
  ASSERT_EQ(silent.create("/silent", "", true), 0);
  inbox<clock::time_point> gone;
  ASSERT_TRUE(zk.exists("/silent", [&](const watch_event&) { gone.put(clock::now()); }));
  const auto when = gone.take();
  ASSERT_TRUE(when);
  EXPECT_GE(*when - last_heard, 400ms);
  EXPECT_TRUE(is_ended(silent.link));
}

// What was sent while the server was stopped counts as said in time.
TEST_F(tcp_sessions, a_server_that_was_stopped_blames_nobody) {
  constexpr int timeout_ms = 500;
  raw_session pinging{server.tcp()};
  raw_session quiet{server.tcp()};
  ASSERT_TRUE(pinging.greet(timeout_ms));
  ASSERT_TRUE(quiet.greet(timeout_ms));
  ASSERT_EQ(pinging.create("/pinging", "", true), 0);
  ASSERT_EQ(quiet.create("/quiet", "", true), 0);
  server.pause();
  pinging.link.send_frame(request(-2, op::ping));
  std::this_thread::sleep_for(4 * std::chrono::milliseconds{timeout_ms});
  server.resume();
  EXPECT_EQ(decode_reply(pinging.link.receive_frame()).xid, -2);
  EXPECT_EQ(pinging.exists("/pinging"), 0);
  EXPECT_EQ(quiet.exists("/quiet"), 0);
}

}  // namespace
}  // namespace conclave::testing
