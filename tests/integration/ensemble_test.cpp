// An ensemble of three servers: the leader is killed while requests are pending, servers restart
// one by one, and a minority serves readers.
#include <algorithm>
#include <atomic>
#include <set>
#include <vector>

#include "integration/harness.hpp"
#include "support/zookeeper_ensemble.hpp"

namespace conclave::testing {
namespace {

using event = session_event::kind;

TEST(ensemble, every_request_in_flight_completes_once_when_the_leader_is_killed) {
  zookeeper_ensemble servers;
  client zk{servers.connect_string()};
  session_recorder events{zk};
  zk.create("/burst");
  constexpr std::size_t count = 1000;
  std::vector<std::atomic<int>> completions(count);
  std::vector<error_code> codes(count);
  inbox<std::size_t> done;
  // While the leader is stopped, no server answers, so all requests are pending when it is killed.
  const auto leader = *servers.leader();
  servers.server(leader).pause();
  for (std::size_t i = 0; i < count; ++i) {
    zk.async_create("/burst/" + std::to_string(i), "", {}, [&, i](error_code ec, create_result) {
      ++completions[i];
      codes[i] = ec;
      done.put(i);
    });
  }
  EXPECT_EQ(done.size(), 0u);
  servers.kill(leader);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_TRUE(done.take()) << i << " completed, then no more";
  servers.wait_for_quorum();
  zk.sync("/burst");
  const auto names = zk.children("/burst").names;
  const std::set<std::string> there{names.begin(), names.end()};
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(completions[i], 1) << i;
    if (!codes[i]) {
      EXPECT_TRUE(there.contains(std::to_string(i))) << i << " was confirmed and is lost";
    } else if (codes[i] == errc::not_connected) {
      EXPECT_FALSE(there.contains(std::to_string(i))) << i << " was never sent and is there";
    } else {
      EXPECT_EQ(codes[i], condition::outcome_unknown) << i << ": " << codes[i].message();
      ++unknown;
    }
  }
  EXPECT_GT(unknown, count / 2) << "too few requests were pending when the leader was killed";
  EXPECT_EQ(done.size(), 0u);
}

TEST(ensemble, a_session_survives_a_rolling_restart) {
  zookeeper_ensemble servers;
  client zk{servers.connect_string()};
  session_recorder events{zk};
  zk.create("/e", "", create_mode::ephemeral);
  const auto session = zk.session_id();
  watch_recorder seen;
  zk.add_watch("/e", watch_mode::persistent, seen.get());
  for (std::size_t i = 0; i < servers.size(); ++i) {
    servers.kill(i);
    servers.wait_for_quorum();
    EXPECT_TRUE(zk.exists("/e"));
    servers.start_again(i);
    servers.wait_for_quorum();
  }
  EXPECT_EQ(zk.session_id(), session);
  EXPECT_TRUE(events.wait_for(event::reconnected))
      << "the client was connected to one of the three servers";
  zk.set("/e", "still watched");
  auto received = seen.take();
  while (received && received->type == watch_event::kind::possibly_missed) received = seen.take();
  EXPECT_EQ(received->type, watch_event::kind::changed);
}

TEST(ensemble, a_minority_serves_only_clients_that_accept_read_only) {
  zookeeper_options options;
  options.read_only_mode = true;
  // For 3.8, the creation of a global session is a write, which a read-only server refuses.
  options.config["localSessionsEnabled"] = "true";
  options.config["localSessionsUpgradingEnabled"] = "true";
  zookeeper_ensemble servers{options};
  {
    client zk{servers.connect_string()};
    zk.create("/data", "x");
  }
  const auto last = *servers.leader() == 0 ? std::size_t{1} : std::size_t{0};
  for (std::size_t i = 0; i < servers.size(); ++i)
    if (i != last) servers.kill(i);
  // It continues to serve until it detects that the others have stopped.
  servers.server(last).wait_for_mode("read-only");
  client_options reads = with_timeout(10s);
  reads.allow_read_only = true;
  client reader{servers.server(last).connect_string(), reads};
  ASSERT_TRUE(reader.wait_connected(wait_limit));
  EXPECT_TRUE(reader.read_only());
  EXPECT_EQ(reader.get("/data").data, "x");
  EXPECT_EQ(code_of([&] { reader.create("/no"); }), errc::not_read_only);

  client_options strict;
  strict.connect_wait = 500ms;
  client writer{servers.server(last).connect_string(), strict};
  EXPECT_EQ(code_of([&] { writer.get("/data"); }), errc::not_connected)
      << "read-only is off by default";

  // With a majority again, the reader gets a real session.
  session_recorder events{reader};
  for (std::size_t i = 0; i < servers.size(); ++i)
    if (i != last) servers.start_again(i);
  servers.wait_for_quorum();
  ASSERT_TRUE(events.wait_for(event::connected));
  EXPECT_FALSE(reader.read_only());
  reader.create("/yes", "", create_mode::ephemeral);
}

}  // namespace
}  // namespace conclave::testing
