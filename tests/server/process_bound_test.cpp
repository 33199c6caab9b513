// Sessions on the Unix socket live exactly while a process keeps their connection open, independent
// of the session timeout.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "integration/harness.hpp"
#include "server/helper_process.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"
#include "support/unix_relay.hpp"

namespace conclave::testing {
namespace {

using clock = std::chrono::steady_clock;

constexpr int long_timeout_ms = 40'000;
constexpr int short_timeout_ms = 700;
// Longer than the short timeout, so that a fault shows on a slow machine too.
constexpr auto well_after_short = 3 * std::chrono::milliseconds{short_timeout_ms};

class process_bound : public ::testing::Test {
 protected:
  // Starts a helper process and returns when its node exists.
  std::unique_ptr<child_process> start(const std::string& role, int timeout_ms,
                                       const std::string& path) {
    watch_recorder made;
    EXPECT_FALSE(zk.exists(path, made.get()));
    auto process =
        std::make_unique<child_process>(helper_process(role, server.socket(), timeout_ms, path));
    EXPECT_TRUE(made.take());
    return process;
  }

  // Waits until the node has this data.
  bool wait_for_data(const std::string& path, const std::string& data) {
    while (true) {
      watch_recorder changed;
      if (zk.get(path, changed.get()).data == data) return true;
      if (!changed.take()) return false;
    }
  }

  serve_process server{{"--durability", "none", "--tick", "100ms", "--max-session-timeout", "1m"}};
  client zk{server.socket()};
};

TEST_F(process_bound, ephemeral_nodes_of_a_killed_client_are_deleted_at_once) {
  std::vector<clock::duration> times;
  for (int i = 0; i < 5; ++i) {
    const auto holder = start("hold", long_timeout_ms, "/held");
    inbox<clock::time_point> gone;
    ASSERT_TRUE(zk.exists("/held", [&](const watch_event&) { gone.put(clock::now()); }));
    const auto killed = clock::now();
    holder->kill(SIGKILL);
    const auto when = gone.take();
    ASSERT_TRUE(when);
    EXPECT_FALSE(zk.exists("/held"));
    times.push_back(*when - killed);
    EXPECT_LT(times.back(), 2s);
  }
  std::sort(times.begin(), times.end());
  const auto microseconds = [](auto t) {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(t).count());
  };
  RecordProperty("kill_to_gone_best_us", microseconds(times.front()));
  RecordProperty("kill_to_gone_median_us", microseconds(times[times.size() / 2]));
  RecordProperty("kill_to_gone_worst_us", microseconds(times.back()));
  EXPECT_LT(times.front(), 50ms);
}

TEST_F(process_bound, ephemeral_nodes_of_a_client_that_exits_are_deleted_at_once) {
  const auto holder = start("hold", long_timeout_ms, "/held");
  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/held", gone.get()));
  holder->kill(SIGTERM);
  EXPECT_TRUE(gone.take(2s));
}

TEST_F(process_bound, a_child_that_inherited_the_connection_keeps_the_session) {
  const auto parent = start("inherit", short_timeout_ms, "/inherited");
  watch_recorder changed;
  auto node = zk.get("/inherited", changed.get());
  if (node.data.empty()) {
    ASSERT_TRUE(changed.take());
    node = zk.get("/inherited");
  }
  const auto child = std::stoi(node.data);

  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/inherited", gone.get()));
  parent->kill(SIGKILL);
  ASSERT_TRUE(parent->wait(10s));
  EXPECT_FALSE(gone.take(well_after_short)) << "its child still has the connection";
  EXPECT_EQ(zk.get("/inherited").stat, node.stat);
  ::kill(child, SIGKILL);
  const auto event = gone.take();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, watch_event::kind::deleted);
}

TEST_F(process_bound, a_stopped_client_keeps_its_session) {
  const auto holder = start("hold", short_timeout_ms, "/stopped");
  const auto before = *zk.exists("/stopped");
  holder->pause();
  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/stopped", gone.get()));
  EXPECT_FALSE(gone.take(well_after_short));
  holder->resume();
  holder->kill(SIGUSR2);
  ASSERT_TRUE(wait_for_data("/stopped", "fine"));
  const auto after = *zk.exists("/stopped");
  EXPECT_EQ(after.czxid, before.czxid);
  EXPECT_EQ(after.ephemeral_owner, before.ephemeral_owner);
}

TEST_F(process_bound, a_silent_client_keeps_its_session) {
  raw_session silent{server.socket()};
  ASSERT_TRUE(silent.handshake(short_timeout_ms));
  EXPECT_EQ(silent.timeout_ms, short_timeout_ms);
  ASSERT_EQ(silent.create("/silent", "", true), 0);
  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/silent", gone.get()));
  EXPECT_FALSE(gone.take(well_after_short));
  EXPECT_EQ(silent.exists("/silent"), 0);
}

TEST_F(process_bound, a_disconnected_client_reconnects) {
  const auto holder = start("hold", long_timeout_ms, "/disconnected");
  const auto before = *zk.exists("/disconnected");
  for (int i = 0; i < 3; ++i) {
    holder->kill(SIGUSR1);
    ASSERT_TRUE(wait_for_data("/disconnected", "back"));
    zk.set("/disconnected", "once more");
  }
  const auto after = *zk.exists("/disconnected");
  EXPECT_EQ(after.czxid, before.czxid);
  EXPECT_EQ(after.ephemeral_owner, before.ephemeral_owner);
  // The session is still bound to its process.
  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/disconnected", gone.get()));
  holder->kill(SIGKILL);
  EXPECT_TRUE(gone.take(2s));
}

TEST_F(process_bound, a_disconnected_client_can_reconnect_within_its_timeout) {
  constexpr auto timeout = 1500ms;
  raw_session first{server.socket()};
  ASSERT_TRUE(first.handshake(timeout.count()));
  ASSERT_EQ(first.create("/away", "", true), 0);

  // Reconnects in time.
  first.link.close();
  raw_session second{server.socket()};
  ASSERT_TRUE(second.reconnect(first));
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.exists("/away"), 0);

  // Does not reconnect.
  inbox<clock::time_point> gone;
  ASSERT_TRUE(zk.exists("/away", [&](const watch_event&) { gone.put(clock::now()); }));
  const auto disconnected_at = clock::now();
  second.link.close();
  const auto when = gone.take();
  ASSERT_TRUE(when);
  EXPECT_GE(*when - disconnected_at, timeout - 100ms)
      << "this process is alive and could have reconnected";
  raw_session late{server.socket()};
  EXPECT_FALSE(late.reconnect(first));
}

TEST_F(process_bound, a_half_close_counts_as_a_close) {
  raw_session s{server.socket()};
  ASSERT_TRUE(s.handshake(short_timeout_ms));
  ASSERT_EQ(s.create("/half", "", true), 0);
  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/half", gone.get()));
  ::shutdown(s.link.native_handle(), SHUT_WR);
  EXPECT_TRUE(is_ended(s.link));
  EXPECT_TRUE(gone.take()) << "after its timeout";
}

// When the session moves to another process, its binding changes.
TEST_F(process_bound, a_session_is_bound_to_the_process_that_reconnected) {
  const auto first_owner = start("lend", long_timeout_ms, "/lent");
  const auto key = zk.get("/lent").data;
  auto mine = std::make_unique<raw_session>(server.socket());
  ASSERT_TRUE(mine->reconnect(int64_at(key, 0), key.substr(8), long_timeout_ms));
  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/lent", gone.get()));
  first_owner->kill(SIGKILL);
  EXPECT_FALSE(gone.take(500ms));
  EXPECT_EQ(mine->exists("/lent"), 0);

  raw_session again{server.socket()};
  mine.reset();
  ASSERT_TRUE(again.reconnect(int64_at(key, 0), key.substr(8), long_timeout_ms));
  EXPECT_EQ(again.exists("/lent"), 0);
}

TEST_F(process_bound, a_session_ends_with_its_current_process_and_not_with_an_earlier_one) {
  const auto lender = start("lend", long_timeout_ms, "/lent");
  const auto key = zk.get("/lent").data;
  raw_session mine{server.socket()};
  ASSERT_TRUE(mine.reconnect(int64_at(key, 0), key.substr(8), long_timeout_ms));
  // The session reconnects on a second connection, and the server closes the first one.
  raw_session taken_over{server.socket()};
  ASSERT_TRUE(taken_over.reconnect(mine));
  EXPECT_TRUE(is_ended(mine.link));
  EXPECT_EQ(taken_over.exists("/lent"), 0);
  lender->kill(SIGKILL);
  ASSERT_TRUE(lender->wait(10s));
  EXPECT_EQ(taken_over.exists("/lent"), 0);
}

// --- connections that keep a session and accept no requests

// Like the library's session_keeper.
connect_request keeper_of(std::int64_t session, const std::string& password) {
  connect_request hello{long_timeout_ms};
  hello.protocol_version = 2;
  hello.last_zxid_seen = std::numeric_limits<std::int64_t>::max();
  hello.session_id = session;
  hello.password = password;
  hello.has_read_only = false;
  return hello;
}

TEST_F(process_bound, a_keeper_keeps_the_session_of_a_process_that_has_ended) {
  const auto owner = start("lend", short_timeout_ms, "/kept");
  const auto key = zk.get("/kept").data;
  auto keeper = std::make_unique<raw_session>(server.socket());
  ASSERT_TRUE(keeper->handshake(keeper_of(int64_at(key, 0), key.substr(8))));
  EXPECT_EQ(keeper->password, std::string(16, '\0'));
  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/kept", gone.get()));
  owner->kill(SIGKILL);
  ASSERT_TRUE(owner->wait(10s));
  EXPECT_FALSE(gone.take(well_after_short));
  keeper.reset();
  EXPECT_TRUE(gone.take(2s)) << "independent of the timeout";
}

TEST_F(process_bound, a_keeper_cannot_use_the_session) {
  raw_session owner{server.socket()};
  ASSERT_TRUE(owner.handshake(long_timeout_ms));
  ASSERT_EQ(owner.create("/mine", "", true), 0);
  for (const auto type : {op::close_session, op::ping}) {
    raw_session keeper{server.socket()};
    ASSERT_TRUE(keeper.handshake(keeper_of(owner.id, owner.password)));
    keeper.link.send_frame(request(1, type));
    EXPECT_TRUE(is_ended(keeper.link));
    EXPECT_EQ(owner.exists("/mine"), 0) << "the owner's connection is not affected";
  }
}

TEST_F(process_bound, a_keeper_ends_with_the_session) {
  raw_session owner{server.socket()}, keeper{server.socket()}, other_client{server.socket()};
  ASSERT_TRUE(owner.handshake(long_timeout_ms));
  EXPECT_FALSE(other_client.handshake(keeper_of(owner.id, std::string(16, 'x'))));
  ASSERT_TRUE(keeper.handshake(keeper_of(owner.id, owner.password)));
  owner.link.send_frame(request(1, op::close_session));
  EXPECT_TRUE(is_ended(keeper.link));
  raw_session late{server.socket()};
  EXPECT_FALSE(late.handshake(keeper_of(owner.id, owner.password)));
}

// A stopped process does not read.
TEST(process_bound_without_reading, a_client_that_does_not_read_keeps_its_session_until_it_ends) {
  serve_process server{{"--durability", "none", "--tick", "100ms", "--stall-limit", "300ms"}};
  client zk{server.socket()};
  watch_recorder made;
  ASSERT_FALSE(zk.exists("/deaf", made.get()));
  child_process holder{helper_process("no_read", server.socket(), short_timeout_ms, "/deaf")};
  ASSERT_TRUE(made.take());
  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/deaf", gone.get()));
  // The server checks for stalled clients once a second.
  EXPECT_FALSE(gone.take(2500ms));
  holder.kill(SIGKILL);
  EXPECT_TRUE(gone.take(2s)) << "although the server did not read from it";
}

// --- the binding as the client and the server see it

TEST_F(process_bound, a_client_without_a_binding_has_an_ordinary_session) {
  raw_session s{server.socket()};
  ASSERT_GT(s.binding, 1);
  s.binding = 0;
  ASSERT_TRUE(s.handshake(short_timeout_ms));
  EXPECT_EQ(s.agreed_binding, 0);
  ASSERT_EQ(s.create("/ordinary", "", true), 0);
  watch_recorder gone;
  if (zk.exists("/ordinary", gone.get())) {
    EXPECT_TRUE(gone.take()) << "after its timeout";
  }
}

TEST_F(process_bound, a_direct_connection_has_no_deadline) {
  client direct{server.socket(), with_timeout(1s)};
  direct.sync();
  EXPECT_EQ(direct.session_deadline(), boot_clock::time_point::max());
}

// A relay (socat, ssh -L) can keep the client's connection open after the server's has ended.
TEST_F(process_bound, a_relayed_connection_has_the_deadline_of_its_timeout) {
  const auto file = server.folder() / "relayed";
  const unix_relay relay{file, server.socket_file()};
  client relayed{"unix:" + file.string(), with_timeout(1s)};
  relayed.sync();
  EXPECT_EQ(relay.links_accepted(), 1u);
  EXPECT_LE(relayed.session_deadline(), boot_clock::now() + 1s);
}

// Process ids of different namespaces cannot be compared.
TEST(process_bound_in_another_namespace,
     a_server_in_another_pid_namespace_has_the_deadline_of_its_timeout) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  serve_process server{{"--durability", "none", "--tick", "100ms"},
                       {"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}};
  client zk{server.socket(), with_timeout(1s)};
  zk.sync();
  EXPECT_LE(zk.session_deadline(), boot_clock::now() + 1s);
}

// --- restarts of the server

class process_bound_restart : public ::testing::Test {
 protected:
  serve_process server{{"--tick", "100ms", "--max-session-timeout", "1m"}};
};

TEST_F(process_bound_restart, sessions_continue_after_the_server_was_killed) {
  client zk{server.socket(), with_timeout(30s)};
  watch_recorder made;
  ASSERT_FALSE(zk.exists("/held", made.get()));
  child_process holder{helper_process("hold", server.socket(), long_timeout_ms, "/held")};
  ASSERT_TRUE(made.take());
  const auto before = *zk.exists("/held");
  const auto session = zk.session_id();
  zk.create("/mine", "", create_mode::ephemeral);

  server.kill();
  server.start_again();
  EXPECT_EQ(*zk.exists("/held"), before);
  EXPECT_TRUE(zk.exists("/mine"));
  EXPECT_EQ(zk.session_id(), session);
  // The session is bound again after the reconnect.
  watch_recorder changed;
  zk.get("/held", changed.get());
  holder.kill(SIGUSR2);
  ASSERT_TRUE(changed.take());
  EXPECT_EQ(zk.exists("/held")->ephemeral_owner, before.ephemeral_owner);
  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/held", gone.get()));
  holder.kill(SIGKILL);
  EXPECT_TRUE(gone.take(2s));
}

TEST_F(process_bound_restart, sessions_of_clients_that_ended_meanwhile_expire_after_their_timeout) {
  raw_session lost{server.socket()};
  ASSERT_TRUE(lost.handshake(short_timeout_ms));
  ASSERT_EQ(lost.create("/lost", "", true), 0);
  server.kill();
  server.start_again();
  client zk{server.socket()};
  watch_recorder gone;
  if (zk.exists("/lost", gone.get())) {
    EXPECT_TRUE(gone.take());
  }
}

}  // namespace
}  // namespace conclave::testing
