// Servers that are killed, restarted or paused, and a wrong password for a session.
#include "integration/harness.hpp"
#include "support/scripted_server.hpp"

namespace conclave::testing {
namespace {

using event = session_event::kind;

TEST(restart, the_session_survives_a_restart_of_a_killed_server) {
  zookeeper_server server;
  client zk{server.connect_string()};
  session_recorder events{zk};
  zk.create("/e", "", create_mode::ephemeral);
  watch_recorder seen;
  zk.get("/e", seen.get());
  const auto session = zk.session_id();
  server.kill();
  ASSERT_TRUE(events.wait_for(event::suspended));
  inbox<error_code> got;
  zk.async_get("/e", [&](error_code ec, get_result) { got.put(ec); });
  server.start_again();
  ASSERT_TRUE(events.wait_for(event::reconnected));
  EXPECT_EQ(zk.session_id(), session);
  EXPECT_EQ(got.take(), error_code{});
  zk.set("/e", "after");
  EXPECT_EQ(seen.take()->type, watch_event::kind::changed)
      << "the watch was set again on the new process";
}

TEST(restart, a_paused_server_is_disconnected_in_time_and_used_again) {
  zookeeper_options options;
  options.tick_ms = 200;
  zookeeper_server server{options};
  client zk{server.connect_string(), with_timeout(1s)};
  session_recorder events{zk};
  zk.sync();
  server.pause();
  const auto paused = boot_clock::now();
  ASSERT_TRUE(events.wait_for(event::suspended));
  EXPECT_LT(boot_clock::now() - paused, 20s);
  server.resume();
  // The session may have expired. In both cases the client continues.
  const auto next = events.next();
  ASSERT_TRUE(next);
  zk.sync();
}

// The first server gives the client the id of a real session with a wrong password. The client then
// tries to continue this session on the real server.
TEST(restart, a_session_with_the_wrong_password_is_refused_as_expired) {
  client owner{shared_server().connect_string()};
  ASSERT_TRUE(owner.wait_connected(wait_limit));
  scripted_server impostor{[&](scripted_connection& c) {
    if (c.index() == 0) c.accept_session(10'000, owner.session_id());
  }};
  client_options options;
  options.shuffle_hosts = false;
  client zk{impostor.connect_string() + "," + shared_server().connect_string(), options};
  session_recorder events{zk};
  ASSERT_TRUE(events.wait_for(event::expired));
  ASSERT_TRUE(events.wait_for(event::connected));
  EXPECT_NE(zk.session_id(), owner.session_id());
  owner.sync();
  EXPECT_EQ(owner.state(), session_state::connected) << "the owner of the session is not affected";
}

}  // namespace
}  // namespace conclave::testing
