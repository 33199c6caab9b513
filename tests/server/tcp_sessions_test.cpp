// Sessions on TCP expire by ZooKeeper's rules: only received data extends them.
#include <signal.h>
#include <sys/resource.h>

#include <memory>
#include <thread>
#include <vector>

#include "integration/harness.hpp"
#include "server/helper_process.hpp"
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

TEST_F(tcp_sessions, the_session_of_a_killed_client_expires_at_its_timeout) {
  constexpr auto timeout = 2s;
  watch_recorder made;
  ASSERT_FALSE(zk.exists("/held", made.get()));
  child_process holder{helper_process("hold", server.tcp(), timeout / 1ms, "/held")};
  ASSERT_TRUE(made.take());
  inbox<clock::time_point> gone;
  ASSERT_TRUE(zk.exists("/held", [&](const watch_event&) { gone.put(clock::now()); }));
  const auto killed = clock::now();
  holder.kill(SIGKILL);
  const auto when = gone.take();
  ASSERT_TRUE(when);
  // The client sent a ping at least every third of the timeout.
  EXPECT_GE(*when - killed, timeout / 2);
}

TEST_F(tcp_sessions, the_session_of_a_silent_client_expires_at_its_timeout) {
  raw_session silent{server.tcp()};
  ASSERT_TRUE(silent.handshake(1000));
  const auto last_heard = clock::now();
  ASSERT_EQ(silent.create("/silent", "", true), 0);
  inbox<clock::time_point> gone;
  ASSERT_TRUE(zk.exists("/silent", [&](const watch_event&) { gone.put(clock::now()); }));
  const auto when = gone.take();
  ASSERT_TRUE(when);
  EXPECT_GE(*when - last_heard, 1s);
  EXPECT_TRUE(is_ended(silent.link));
}

// Data that was sent while the server was stopped counts as received in time, even if the server
// cannot read all of it before it checks for expired sessions.
TEST_F(tcp_sessions, a_stopped_server_expires_no_session) {
  constexpr auto timeout = 3s;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  std::vector<std::unique_ptr<raw_session>> all;
  const auto ping = [&] {
    for (auto& s : all) s->link.send_frame(request(-2, op::ping));
  };
  for (int i = 0; i < 1500; ++i) {
    all.push_back(std::make_unique<raw_session>(server.tcp()));
    ASSERT_TRUE(all.back()->handshake(timeout / 1ms));
    if (i % 300 != 299) continue;
    ping();  // so that the first sessions do not expire
    for (auto& s : all) ASSERT_EQ(decode_reply(s->link.receive_frame()).xid, -2);
  }
  server.pause();
  ping();
  std::this_thread::sleep_for(timeout + 500ms);
  server.resume();
  std::size_t alive = 0;
  for (auto& s : all) {
    try {
      alive += decode_reply(s->link.receive_frame()).xid == -2 ? 1 : 0;
    } catch (const connection_ended&) {
    }
  }
  EXPECT_EQ(alive, all.size());
}

}  // namespace
}  // namespace conclave::testing
