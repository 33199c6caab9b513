// Candidates under faults: connections lost after every frame, expired sessions, nodes deleted by
// hand, and one of many candidates that fails.
#include <atomic>
#include <memory>
#include <thread>

#include <boost/asio/use_future.hpp>

#include "conclave/election.hpp"
#include "integration/healed_link.hpp"
#include "locks/lock_observer.hpp"

namespace conclave::testing {
namespace {

using boost::asio::use_future;
using kind = election_event::kind;

constexpr auto short_session = 1500ms;

election_options named(const std::string& id) {
  election_options o;
  o.id = id;
  return o;
}

// --- The connection is lost at any place. Sessions outlive the tests, so that an orphan stays
// visible.

class election_frames : public ::testing::Test {
 protected:
  // Three candidates: one leads and resigns, one waits and is elected, one withdraws. The last two
  // have the same session and the same id.
  void run_all_steps() {
    ASSERT_TRUE(a.campaign_for(wait_limit)) << "a is not elected";
    const auto a_since = now();
    auto b_leads = run_async([&] {
      EXPECT_TRUE(b.campaign_for(wait_limit)) << "b is not elected";
      return now();
    });
    ASSERT_TRUE(wait_queue.wait_for_at_least(2));
    auto c_waits = run_async([&] { return code_of([&] { c.campaign(); }); });
    ASSERT_TRUE(wait_queue.wait_for_at_least(3));
    c.resign();
    EXPECT_TRUE(c_waits.get());
    EXPECT_FALSE(ready(b_leads, 0s)) << "a leads";
    std::vector<hold_interval> holds;
    holds.emplace_back(a_since, now(), a.fencing_token());
    auto a_gone = a.async_resign(use_future);
    ASSERT_TRUE(ready(b_leads)) << "nobody leads; in line: " << wait_queue.contenders().size();
    const auto b_since = b_leads.get();
    ASSERT_TRUE(ready(a_gone)) << "a's resignation is not confirmed";
    auto c_gone = c.async_resign(use_future);
    ASSERT_TRUE(ready(c_gone)) << "c's resignation is not confirmed";
    EXPECT_EQ(wait_queue.contenders(), std::vector{name_of(b.hold().node())}) << "an orphan";
    EXPECT_EQ(wait_queue.zk().get(b.hold().node()).data, "host");
    holds.emplace_back(b_since, now(), b.fencing_token());
    auto b_gone = b.async_resign(use_future);
    ASSERT_TRUE(ready(b_gone)) << "b's resignation is not confirmed";
    EXPECT_TRUE(wait_queue.contenders().empty());
    expect_exclusion(holds);
  }
  template <class Arm>
  void at_every_frame(Arm arm) {
    run_all_steps();  // after this, every client has connected
    testing::at_every_frame(proxy, 9, arm, [this] { run_all_steps(); });
  }

  link_proxy proxy{shared_server().port()};
  lock_observer wait_queue{"election"};
  client first{proxy.connect_string(), healed_at_once(proxy)};
  client second{proxy.connect_string(), healed_at_once(proxy)};
  election a{first, wait_queue.path(), named("host")};
  election b{second, wait_queue.path(), named("host")};
  election c{second, wait_queue.path(), named("host")};
};

TEST_F(election_frames, one_connection_lost_after_every_request) {
  at_every_frame([&](std::size_t n) { proxy.disconnect_after_client_frames(n); });
}

TEST_F(election_frames, one_connection_lost_after_every_reply) {
  at_every_frame([&](std::size_t n) { proxy.disconnect_after_server_frames(n); });
}

TEST_F(election_frames, all_connections_lost_after_every_request) {
  at_every_frame([&](std::size_t n) {
    proxy.disconnect_after_client_frames(n, link_proxy::afterwards::refuse_until_heal);
  });
}

TEST_F(election_frames, all_connections_lost_after_every_reply) {
  at_every_frame([&](std::size_t n) {
    proxy.disconnect_after_server_frames(n, link_proxy::afterwards::refuse_until_heal);
  });
}

// --- expired sessions

class election_expiry : public ::testing::Test {
 protected:
  static client_options quick() {
    auto o = with_timeout(short_session);
    o.reconnect = [](unsigned) { return 20ms; };
    return o;
  }
  struct recorded_events {
    inbox<election_event> events;
    inbox<error_code> lost;
    election_options options(const std::string& id) {
      auto o = named(id);
      o.on_event = [this](const election_event& e) { events.put(e); };
      o.on_lost = [this](const hold& h, error_code why) {
        EXPECT_FALSE(h.held());
        lost.put(why);
      };
      return o;
    }
    std::optional<election_event> wait_for(kind k) {
      for (;;) {
        auto next = events.take();
        if (!next || next->type == k) return next;
      }
    }
  };

  link_proxy proxy{shared_server().port()};
  lock_observer wait_queue{"election"};
  client proxied{proxy.connect_string(), quick()};
  client zk{shared_server().connect_string()};
};

TEST_F(election_expiry, a_leader_is_notified_and_may_campaign_again) {
  recorded_events events;
  election a{proxied, wait_queue.path(), events.options("a")};
  election b{zk, wait_queue.path(), named("b")};
  a.campaign();
  auto b_leads = run_async([&] {
    b.campaign();
    return now();
  });
  ASSERT_TRUE(wait_queue.wait_for(2));
  const auto old = a.hold();
  proxy.disconnect();
  ASSERT_TRUE(events.lost.take());
  const auto lost_at = now();
  const auto failed = events.wait_for(kind::failed);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->node, old.node());
  EXPECT_TRUE(failed->why);
  EXPECT_EQ(a.state(), election_state::failed);
  EXPECT_FALSE(a.held());
  EXPECT_GE(b_leads.get(), lost_at - 100ms)
      << "notified before another candidate leads, within the accuracy of this check";
  proxy.heal();
  auto again = a.async_campaign(use_future);
  ASSERT_TRUE(events.wait_for(kind::ready_complete));
  EXPECT_EQ(b.leader()->owner, "b");
  b.resign();
  ASSERT_TRUE(ready(again));
  EXPECT_TRUE(a.held());
  EXPECT_GT(a.fencing_token(), b.fencing_token());
  EXPECT_EQ(a.leader()->owner, "a");
}

TEST_F(election_expiry, a_waiting_candidate_campaigns_again) {
  recorded_events events;
  election a{proxied, wait_queue.path(), events.options("a")};
  election leader{zk, wait_queue.path(), named("leader")};
  leader.campaign();
  auto a_leads = a.async_campaign(use_future);
  const auto first = events.wait_for(kind::ready_complete);
  ASSERT_TRUE(first);
  proxy.disconnect();
  ASSERT_TRUE(wait_queue.wait_until_gone(first->node));
  proxy.heal();
  ASSERT_TRUE(events.wait_for(kind::offer_start));
  const auto second = events.wait_for(kind::ready_complete);
  ASSERT_TRUE(second);
  EXPECT_NE(second->node, first->node);
  EXPECT_FALSE(ready(a_leads, 0s));
  leader.resign();
  ASSERT_TRUE(ready(a_leads));
  EXPECT_TRUE(a.held());
}

TEST_F(election_expiry, run_as_leader_is_notified_and_runs_again) {
  election a{proxied, wait_queue.path(), named("a")};
  inbox<std::int64_t> leads;
  std::stop_source stop;
  auto running = run_async([&] {
    return a.run_as_leader(
        [&](const std::stop_token& over) {
          leads.put(a.fencing_token());
          inbox<bool> stopped;
          const std::stop_callback on_stop{over, [&] { stopped.put(true); }};
          EXPECT_TRUE(stopped.take());
        },
        requeue::yes, stop.get_token());
  });
  const auto first = leads.take();
  ASSERT_TRUE(first);
  const auto node = a.leader()->node;
  proxy.disconnect();
  ASSERT_TRUE(wait_queue.wait_until_gone(node));
  proxy.heal();
  const auto second = leads.take();
  ASSERT_TRUE(second) << "it runs again in the next session";
  EXPECT_GT(*second, *first);
  stop.request_stop();
  EXPECT_TRUE(running.get());
}

TEST_F(election_expiry, run_as_leader_once_reports_the_loss) {
  election a{proxied, wait_queue.path(), named("a")};
  inbox<bool> leads;
  auto running = run_async([&] {
    return a.run_as_leader([&](const std::stop_token& over) {
      leads.put(true);
      inbox<bool> stopped;
      const std::stop_callback on_stop{over, [&] { stopped.put(true); }};
      EXPECT_TRUE(stopped.take());
    });
  });
  ASSERT_TRUE(leads.take());
  proxy.disconnect();
  EXPECT_FALSE(running.get());
  proxy.heal();
}

// --- nodes deleted by hand

TEST_F(election_expiry, works_again_after_the_path_was_removed) {
  client other{shared_server().connect_string()};
  recorded_events events;
  election a{zk, wait_queue.path(), named("a")};
  election b{other, wait_queue.path(), events.options("b")};
  a.campaign();
  auto b_leads = run_async([&] { return code_of([&] { b.campaign(); }); });
  ASSERT_TRUE(events.wait_for(kind::ready_complete));
  transaction all;
  auto names = wait_queue.contenders();
  for (auto name = names.rbegin(); name != names.rend(); ++name)
    all.remove(wait_queue.path() + '/' + *name);
  all.remove(wait_queue.path());
  wait_queue.zk().commit(all);
  EXPECT_EQ(b_leads.get(), errc::waiter_node_deleted);
  EXPECT_EQ(events.wait_for(kind::failed)->why, errc::waiter_node_deleted);
  b.campaign();
  EXPECT_TRUE(b.held());
  EXPECT_EQ(b.leader()->owner, "b");
  EXPECT_EQ(wait_queue.contenders().size(), 1u);
}

// A candidate whose node is deleted creates exactly one new node.
TEST_F(election_expiry, each_deleted_node_is_created_again_once) {
  std::atomic<int> deleted{0};
  std::atomic<bool> over{false};
  std::vector<std::jthread> all;
  inbox<int> leads;
  for (int i = 0; i < 3; ++i)
    all.emplace_back([&, i] {
      client mine{shared_server().connect_string()};
      election e{mine, wait_queue.path(), named(std::to_string(i))};
      while (!over) {
        try {
          e.campaign();
        } catch (const error& why) {
          EXPECT_EQ(why.code(), errc::waiter_node_deleted);
          continue;
        }
        leads.put(i);
        e.resign();
      }
    });
  // Repeated until enough nodes were deleted: most candidates resign before that.
  for (int round = 0; round < 100 || deleted <= 20; ++round) {
    for (const auto& name : wait_queue.contenders())
      if (!code_of([&] { wait_queue.zk().remove(wait_queue.path() + '/' + name); })) ++deleted;
    EXPECT_TRUE(round % 10 != 9 || leads.take()) << "nobody leads any more";
  }
  over = true;
  all.clear();
  EXPECT_TRUE(wait_queue.wait_for(0));
  // Every candidacy created one node.
  const auto next =
      wait_queue.zk().create(wait_queue.path() + "/n_", "", create_mode::ephemeral_sequential);
  const auto made = std::stoi(next.path.substr(next.path.size() - 10));
  EXPECT_LE(made, static_cast<int>(leads.size()) + deleted + 10 + 3);
}

// --- many candidates

TEST(election_herd, a_candidate_that_fails_wakes_its_successor_and_elects_none) {
  for (const std::size_t count : {3, 50, 200}) {
    link_proxy proxy{shared_server().port()};
    lock_observer wait_queue{"herd"};
    client near{shared_server().connect_string()};
    election leader{near, wait_queue.path(), named("leader")};
    leader.campaign();
    std::vector<std::unique_ptr<client>> clients;
    for (int i = 0; i < 10; ++i)
      clients.push_back(std::make_unique<client>(proxy.connect_string(), with_timeout(60s)));
    // A candidate that fails because its session ends, like a killed process.
    client dies{shared_server().connect_string()};
    std::vector<std::unique_ptr<election>> all;
    inbox<std::pair<std::size_t, error_code>> answered;
    for (std::size_t i = 0; i < count; ++i) {
      auto& of = i == count / 2 ? dies : *clients[i % clients.size()];
      all.push_back(std::make_unique<election>(of, wait_queue.path(), named(std::to_string(i))));
      all[i]->async_campaign([&, i](error_code ec) { answered.put({i, ec}); });
      ASSERT_TRUE(wait_queue.wait_for(i + 2));
    }
    constexpr int rounds = 4;  // one more than the round trips of the candidate
    const auto settle = [&] {
      for (int i = 0; i < rounds; ++i)
        for (auto& each : clients) each->sync();
    };
    settle();
    proxy.reset_counters();
    dies.close();
    ASSERT_TRUE(wait_queue.wait_for(count));
    settle();
    EXPECT_EQ(proxy.events(), 1u) << "only the one behind it";
    EXPECT_EQ(proxy.client_frames() - rounds * clients.size(), 3u)
        << "it reads the record, lists the candidates and watches another one";
    const auto out = answered.take();
    ASSERT_TRUE(out);
    EXPECT_EQ(out->first, count / 2);
    EXPECT_EQ(out->second, errc::closed);
    EXPECT_EQ(answered.size(), 0u) << "nobody is elected";
    EXPECT_TRUE(leader.held());
    leader.resign();
    for (std::size_t i = 0; i < count; ++i) {
      if (i == count / 2) continue;
      const auto next = answered.take();
      ASSERT_TRUE(next);
      EXPECT_EQ(next->first, i);
      EXPECT_FALSE(next->second);
      all[i]->resign();
    }
    EXPECT_TRUE(wait_queue.wait_for(0));
  }
}

}  // namespace
}  // namespace conclave::testing
