// conclave::election_observer on a real server.
#include <atomic>
#include <memory>
#include <thread>

#include <boost/asio/use_future.hpp>

#include "conclave/election.hpp"
#include "locks/lock_observer.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

using boost::asio::use_future;

class observer_test : public ::testing::Test {
 protected:
  // The id of the leader, or "nobody".
  using reports = inbox<std::string>;
  static election_observer::callback into(reports& t) {
    return [&t](const std::optional<contender_info>& leader) {
      t.put(leader ? leader->owner : "nobody");
    };
  }
  static election_options named(const std::string& id) {
    election_options o;
    o.id = id;
    return o;
  }

  lock_observer wait_queue{"observed"};
  const std::string path = wait_queue.path();
  client zk{shared_server().connect_string()};
};

TEST_F(observer_test, reports_every_change) {
  reports seen;
  const election_observer watching{zk, path, into(seen)};
  EXPECT_EQ(seen.take(), "nobody");
  election a{zk, path, named("a")};
  election b{zk, path, named("b")};
  a.campaign();
  EXPECT_EQ(seen.take(), "a");
  auto b_leads = b.async_campaign(use_future);
  ASSERT_TRUE(wait_queue.wait_for(2));
  a.resign();
  EXPECT_EQ(seen.take(), "b");
  b_leads.get();
  b.resign();
  EXPECT_EQ(seen.take(), "nobody");
  a.campaign();
  EXPECT_EQ(seen.take(), "a");
  EXPECT_EQ(seen.size(), 0u);
}

TEST_F(observer_test, waits_for_a_path_that_does_not_exist) {
  reports seen;
  const auto there = path + "/not/there/yet";
  const election_observer watching{zk, there, into(seen)};
  EXPECT_EQ(seen.take(), "nobody");
  election a{zk, there, named("a")};
  a.campaign();
  EXPECT_EQ(seen.take(), "a");
  a.async_resign(use_future).get();
  EXPECT_EQ(seen.take(), "nobody");
  EXPECT_EQ(seen.size(), 0u);
}

TEST_F(observer_test, uses_the_given_layout) {
  reports seen;
  const election_observer watching{zk, path, into(seen), layout::leader_latch()};
  EXPECT_EQ(seen.take(), "nobody");
  auto o = named("latch");
  o.layout = layout::leader_latch();
  election e{zk, path, o};
  e.campaign();
  EXPECT_EQ(seen.take(), "latch");
}

TEST_F(observer_test, sends_nothing_when_candidates_enter_or_leave) {
  link_proxy proxy{shared_server().port()};
  client counted{proxy.connect_string(), with_timeout(60s)};
  election leader{zk, path, named("leader")};
  leader.campaign();
  reports seen;
  const election_observer watching{counted, path, into(seen)};
  EXPECT_EQ(seen.take(), "leader");
  counted.sync();
  proxy.reset_counters();
  for (int i = 0; i < 10; ++i) {
    election passing{zk, path, named("passing")};
    EXPECT_FALSE(passing.campaign_for(1ms));
  }
  ASSERT_TRUE(wait_queue.wait_for(1));
  counted.sync();
  EXPECT_EQ(proxy.events(), 0u);
  EXPECT_EQ(proxy.client_frames(), 1u) << "our own sync";
  proxy.reset_counters();
  leader.resign();
  EXPECT_EQ(seen.take(), "nobody");
  EXPECT_EQ(proxy.events(), 1u);
  EXPECT_LE(proxy.client_frames(), 3u);
}

TEST_F(observer_test, survives_a_connection_loss_and_an_expired_session) {
  link_proxy proxy{shared_server().port()};
  auto o = with_timeout(1500ms);
  o.reconnect = [](unsigned) { return 20ms; };
  client proxied{proxy.connect_string(), o};
  session_recorder session{proxied};
  reports seen;
  const election_observer watching{proxied, path, into(seen)};
  EXPECT_EQ(seen.take(), "nobody");
  election a{zk, path, named("a")};
  a.campaign();
  EXPECT_EQ(seen.take(), "a");

  proxy.disconnect();
  ASSERT_TRUE(session.wait_for(session_event::kind::suspended));
  election b{zk, path, named("b")};
  auto b_leads = b.async_campaign(use_future);
  ASSERT_TRUE(wait_queue.wait_for(2));
  a.async_resign(use_future).get();
  proxy.heal();
  EXPECT_EQ(seen.take(), "b") << "what changed during the disconnect";

  // The server has ended the session when its ephemeral nodes are deleted.
  ASSERT_TRUE(session.wait_for(session_event::kind::reconnected));
  const auto old = proxied.session_id();
  const auto mark = proxied.create(path + "-mark", "", create_mode::ephemeral).path;
  proxy.disconnect();
  ASSERT_TRUE(wait_queue.wait_until_gone(mark));
  proxy.heal();
  ASSERT_TRUE(session.wait_for(session_event::kind::connected));
  EXPECT_NE(proxied.session_id(), old);
  b.resign();
  EXPECT_EQ(seen.take(), "nobody") << "in the new session";
  EXPECT_EQ(seen.size(), 0u);
}

TEST_F(observer_test, reports_nothing_after_destruction) {
  std::atomic<bool> over{false};
  std::jthread changing{[&] {
    client mine{shared_server().connect_string()};
    election e{mine, path, named("changing")};
    while (!over) {
      e.campaign();
      e.resign();
    }
  }};
  int calls = 0;
  for (int i = 0; i < 50; ++i) {
    bool alive = true;
    inbox<bool> first;
    {
      const election_observer watching{zk, path, [&](const auto&) {
                                         EXPECT_TRUE(alive);
                                         ++calls;
                                         first.put(true);
                                       }};
      EXPECT_TRUE(i % 2 == 1 || first.take());
    }
    alive = false;
  }
  over = true;
  EXPECT_GE(calls, 25);
}

TEST_F(observer_test, may_be_destroyed_by_its_own_callback) {
  std::unique_ptr<election_observer> watching;
  inbox<bool> may_go, gone;
  watching = std::make_unique<election_observer>(zk, path, [&](const auto&) {
    EXPECT_TRUE(may_go.take());
    watching.reset();
    gone.put(true);
  });
  may_go.put(true);
  EXPECT_TRUE(gone.take());
}

TEST_F(observer_test, refuses_an_invalid_path) {
  EXPECT_EQ(code_of([&] { election_observer(zk, "x", [](const auto&) {}); }), errc::invalid_path);
}

}  // namespace
}  // namespace conclave::testing
