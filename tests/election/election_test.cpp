// conclave::election on a real server.
#include "conclave/election.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <stdexcept>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "locks/lock_observer.hpp"
#include "locks/wait_for_children.hpp"

namespace conclave::testing {
namespace {

using boost::asio::use_future;
using strings = std::vector<std::string>;

election_options named(std::string id) {
  election_options o;
  o.id = std::move(id);
  return o;
}

class election_test : public ::testing::Test {
 protected:
  lock_observer wait_queue{"election"};
  const std::string path = wait_queue.path();
  client zk{shared_server().connect_string()};
  client other{shared_server().connect_string()};
};

strings owners(const std::vector<contender_info>& all) {
  strings names;
  for (const auto& each : all) names.push_back(each.owner);
  return names;
}

TEST_F(election_test, leadership_is_handed_off) {
  election a{zk, path, named("a")};
  election b{other, path, named("b")};
  EXPECT_FALSE(a.leader());
  EXPECT_EQ(a.state(), election_state::stop);
  a.campaign();
  EXPECT_TRUE(a.held());
  EXPECT_EQ(a.state(), election_state::elected);
  EXPECT_EQ(zk.get(a.hold().node()).data, "a") << "the id and nothing else";
  auto b_leads = run_async([&] { b.campaign(); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  for (const auto* each : {&a, &b}) {
    const auto leader = each->leader();
    ASSERT_TRUE(leader);
    EXPECT_EQ(leader->owner, "a");
    EXPECT_EQ(leader->node, a.hold().node());
    EXPECT_EQ(leader->fencing_token, a.fencing_token());
    EXPECT_EQ(leader->session_id, zk.session_id());
    EXPECT_TRUE(leader->holds);
    EXPECT_EQ(owners(each->candidates()), (strings{"a", "b"}));
  }
  const auto old = a.hold();
  a.resign();
  ASSERT_TRUE(ready(b_leads));
  b_leads.get();
  EXPECT_FALSE(old.held());
  EXPECT_FALSE(old.lost().stop_requested()) << "resigned is not lost";
  EXPECT_GT(b.fencing_token(), old.fencing_token());
  EXPECT_EQ(a.leader()->owner, "b");
  b.async_resign(use_future).get();
  EXPECT_TRUE(wait_queue.contenders().empty()) << "confirmed";
  EXPECT_FALSE(b.leader());
}

TEST_F(election_test, the_default_id_is_the_host) {
  election e{zk, path};
  EXPECT_FALSE(e.id().empty());
  e.campaign();
  EXPECT_EQ(e.leader()->owner, e.id());
  EXPECT_EQ(e.id().find('\n'), std::string::npos);
}

TEST_F(election_test, reports_its_steps_in_order) {
  inbox<election_event> events;
  auto o = named("b");
  o.on_event = [&](const election_event& e) { events.put(e); };
  election a{zk, path, named("a")};
  election b{other, path, o};
  a.campaign();
  auto b_leads = b.async_campaign(use_future);
  const auto expect = [&](const strings& steps) {
    for (const auto& step : steps) {
      const auto next = events.take();
      ASSERT_TRUE(next) << step;
      EXPECT_EQ(to_string(next->type), step);
      EXPECT_FALSE(next->why);
    }
  };
  expect({"start", "offer_start", "offer_complete", "determine_start", "determine_complete",
          "ready_start", "ready_complete"});
  EXPECT_EQ(b.state(), election_state::ready);
  EXPECT_EQ(events.size(), 0u);
  a.resign();
  expect({"determine_start", "determine_complete", "elected_start", "elected_complete"});
  b_leads.get();
  b.async_resign(use_future).get();
  expect({"stop_start", "stop_complete"});
  EXPECT_EQ(b.state(), election_state::stop);
  EXPECT_EQ(events.size(), 0u);
}

TEST_F(election_test, gives_up_at_the_deadline_or_on_a_stop_request) {
  election a{zk, path};
  election b{other, path};
  a.campaign();
  const auto begun = now();
  EXPECT_FALSE(b.campaign_for(100ms));
  EXPECT_GE(now() - begun, 100ms);
  EXPECT_FALSE(b.campaign_for(0ms));
  EXPECT_FALSE(b.campaign_until(std::chrono::system_clock::now() + 20ms));
  EXPECT_FALSE(b.async_campaign_for(20ms, use_future).get());
  std::stop_source stop;
  auto waiting = run_async([&] { return b.campaign(stop.get_token()); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  EXPECT_TRUE(wait_queue.wait_for(1));
  a.resign();
  EXPECT_TRUE(b.campaign_for(wait_limit));
}

TEST_F(election_test, resigning_ends_only_calls_that_campaign) {
  election a{zk, path};
  election b{other, path};
  a.campaign();
  auto at_the_server = run_async([&] { return code_of([&] { b.campaign(); }); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  auto behind_it = b.async_campaign(use_future);
  b.resign();
  const error_code aborted = boost::asio::error::operation_aborted;
  EXPECT_EQ(at_the_server.get(), aborted);
  EXPECT_THROW(behind_it.get(), boost::system::system_error);
  b.async_resign(use_future).get();
  EXPECT_EQ(wait_queue.contenders().size(), 1u) << "waits for what was resigned before";
  EXPECT_TRUE(a.held());
  b.resign();
  auto again = b.async_campaign(use_future);
  a.resign();
  ASSERT_TRUE(ready(again)) << "it can be used again";
  again.get();
}

TEST_F(election_test, campaigning_while_leading_waits) {
  election a{zk, path};
  a.campaign();
  const auto first = a.fencing_token();
  auto again = a.async_campaign(use_future);
  EXPECT_FALSE(ready(again, 50ms));
  a.async_resign(use_future).get();
  EXPECT_TRUE(ready(again)) << "ended with the rest";
  EXPECT_THROW(again.get(), boost::system::system_error);
  a.campaign();
  EXPECT_GT(a.fencing_token(), first);
}

TEST_F(election_test, reports_nothing_after_destruction) {
  std::atomic<int> calls{0};
  std::atomic<bool> alive{true};
  auto o = named("a");
  o.on_event = [&](const election_event&) {
    EXPECT_TRUE(alive);
    ++calls;
  };
  for (int i = 0; i < 20; ++i) {
    alive = true;
    {
      election e{zk, path, o};
      if (i % 2 == 0)
        e.campaign();
      else
        e.async_campaign([](error_code) {});
    }
    alive = false;
  }
  EXPECT_GT(calls, 100);
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_F(election_test, is_not_destroyed_before_its_callback_has_returned) {
  inbox<bool> inside, go_on;
  std::atomic<bool> returned{false};
  auto o = named("a");
  o.on_event = [&](const election_event& what) {
    if (what.type != election_event::kind::elected_complete) return;
    inside.put(true);
    EXPECT_TRUE(go_on.take());
    returned = true;
  };
  auto e = std::make_unique<election>(zk, path, o);
  e->async_campaign([](error_code) {});
  ASSERT_TRUE(inside.take());
  auto destroying = run_async([&] {
    e.reset();
    return returned.load();
  });
  EXPECT_FALSE(ready(destroying, 50ms));
  go_on.put(true);
  EXPECT_TRUE(destroying.get());
}

TEST_F(election_test, may_be_destroyed_by_its_own_callback) {
  std::unique_ptr<election> e;
  inbox<bool> destroyed;
  int stops = 0;
  auto o = named("a");
  o.on_event = [&](const election_event& what) {
    if (what.type == election_event::kind::stop_start) ++stops;
    if (what.type != election_event::kind::elected_complete) return;
    e.reset();
    EXPECT_EQ(stops, 1);
    destroyed.put(true);
  };
  e = std::make_unique<election>(zk, path, o);
  e->async_campaign([](error_code) {});
  ASSERT_TRUE(destroyed.take());
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_F(election_test, works_with_coroutines) {
  namespace asio = boost::asio;
  election e{zk, path, named("a")};
  asio::io_context io;
  bool led = false;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        co_await e.async_campaign(asio::use_awaitable);
        led = e.held();
        co_await e.async_resign(asio::use_awaitable);
      },
      asio::detached);
  io.run();
  EXPECT_TRUE(led);
  EXPECT_TRUE(wait_queue.contenders().empty());
}

TEST_F(election_test, lists_the_nodes_that_a_campaign_waits_for) {
  auto o = named("candidate");
  o.layout = layout::curator();
  const auto reader =
      zk.create(path + "/__READ__", "reader", create_mode::ephemeral_sequential).path;
  election e{other, path, o};
  auto e_leads = run_async([&] { e.campaign(); });
  wait_for_children(zk, path, 2);
  EXPECT_EQ(owners(e.candidates()), (strings{"reader", "candidate"}));
  auto leader = e.leader();
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->node, reader);
  zk.remove(reader);
  e_leads.get();
  EXPECT_EQ(owners(e.candidates()), strings{"candidate"});

  // Curator's reader does not wait for candidates, so a campaign fails.
  zk.create(path + "/_c_1-__READ__", "", create_mode::ephemeral_sequential);
  election refused{zk, path, o};
  EXPECT_EQ(code_of([&] { refused.campaign(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { e.leader(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { e.candidates(); }), errc::layout_mismatch);
}

TEST_F(election_test, refuses_invalid_arguments) {
  EXPECT_EQ(code_of([&] { election{zk, "nowhere"}; }), errc::invalid_path);
  EXPECT_EQ(code_of([&] { election{zk, "/"}; }), errc::invalid_path);
  election_options o;
  o.layout = layout::custom_shared("r-", "w-");
  EXPECT_EQ(code_of([&] { election{zk, path, o}; }), errc::invalid_argument);
  for (const auto* id : {"a\nid 7", "__REVOKE__"})
    EXPECT_EQ(code_of([&] { election{zk, path, named(id)}; }), errc::invalid_argument) << id;
  zk.create(path + "/lock-0000000000", "");
  election e{zk, path};
  EXPECT_EQ(code_of([&] { e.campaign(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { e.leader(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { e.candidates(); }), errc::layout_mismatch);
  EXPECT_EQ(e.state(), election_state::failed);
  zk.remove(path + "/lock-0000000000");
  e.campaign();
  try {
    election bad{zk, path};
    client closed{shared_server().connect_string()};
    election gone{closed, path};
    closed.close();
    gone.campaign();
    ADD_FAILURE() << "campaigned without a client";
  } catch (const error& why) {
    EXPECT_EQ(why.code(), errc::closed);
    EXPECT_NE(std::string{why.what()}.find("campaign " + path), std::string::npos) << why.what();
  }
}

TEST_F(election_test, has_no_leader_if_the_path_does_not_exist) {
  election e{zk, path + "/not/there"};
  EXPECT_FALSE(e.leader());
  EXPECT_TRUE(e.candidates().empty());
  e.campaign();
  EXPECT_TRUE(e.leader());
}

TEST_F(election_test, leader_works_while_leaders_change) {
  std::atomic<bool> over{false};
  std::vector<std::jthread> all;
  for (int i = 0; i < 3; ++i)
    all.emplace_back([&] {
      client mine{shared_server().connect_string()};
      election e{mine, path, named("one of them")};
      while (!over) {
        e.campaign();
        e.resign();
      }
    });
  election asking{zk, path};
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    std::optional<contender_info> leader;
    EXPECT_EQ(code_of([&] { leader = asking.leader(); }), error_code{});
    if (!leader) continue;
    EXPECT_EQ(leader->owner, "one of them");
    ++found;
  }
  over = true;
  EXPECT_GT(found, 20);
}

// --- run_as_leader

TEST_F(election_test, runs_as_leader_and_resigns) {
  election e{zk, path};
  bool led = false;
  EXPECT_TRUE(e.run_as_leader([&](const std::stop_token& stop) {
    led = e.held();
    EXPECT_FALSE(stop.stop_requested());
  }));
  EXPECT_TRUE(led);
  EXPECT_TRUE(wait_queue.wait_for(0));
  EXPECT_THROW(e.run_as_leader([](const std::stop_token&) { throw std::runtime_error{"work"}; }),
               std::runtime_error);
  EXPECT_FALSE(e.held());
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_F(election_test, runs_as_leader_until_it_is_stopped) {
  election a{zk, path};
  std::stop_source stop, stop_waiting;
  inbox<bool> leads;
  auto running = run_async([&] {
    return a.run_as_leader(
        [&](const std::stop_token& over) {
          leads.put(true);
          inbox<bool> stopped;
          const std::stop_callback on_stop{over, [&] { stopped.put(true); }};
          EXPECT_TRUE(stopped.take());
        },
        requeue::no, stop.get_token());
  });
  ASSERT_TRUE(leads.take());
  election b{other, path};
  auto waiting = run_async(
      [&] { return b.run_as_leader([](const auto&) {}, requeue::yes, stop_waiting.get_token()); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  stop_waiting.request_stop();
  EXPECT_FALSE(waiting.get()) << "it never led";
  stop.request_stop();
  EXPECT_TRUE(running.get()) << "it led to the end";
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_F(election_test, runs_repeatedly_in_turn_with_others) {
  std::stop_source stop;
  std::atomic<int> leading{0};
  std::atomic<int> a_led{0}, b_led{0};
  const auto work = [&](std::atomic<int>& count) {
    return [&](const std::stop_token&) {
      EXPECT_EQ(++leading, 1);
      ++count;
      --leading;
      if (a_led >= 10 && b_led >= 10) stop.request_stop();
    };
  };
  election a{zk, path};
  election b{other, path};
  auto of_a =
      run_async([&] { return a.run_as_leader(work(a_led), requeue::yes, stop.get_token()); });
  auto of_b =
      run_async([&] { return b.run_as_leader(work(b_led), requeue::yes, stop.get_token()); });
  ASSERT_TRUE(ready(of_a));
  ASSERT_TRUE(ready(of_b));
  EXPECT_NE(of_a.get(), of_b.get()) << "one of them was stopped while it led";
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_F(election_test, run_as_leader_ends_if_resigned_before_the_election) {
  election leads{zk, path}, waits{zk, path};
  leads.campaign();
  auto running = run_async(
      [&] { return code_of([&] { waits.run_as_leader([](const auto&) {}, requeue::yes); }); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  waits.resign();
  EXPECT_EQ(running.get(), boost::asio::error::operation_aborted);
}

TEST_F(election_test, threads_of_one_object_run_as_leader_in_turn) {
  election e{zk, path};
  std::atomic<int> leading{0};
  std::atomic<int> led{0};
  std::vector<std::jthread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] {
      for (int k = 0; k < 10; ++k)
        EXPECT_TRUE(e.run_as_leader([&](const std::stop_token&) {
          EXPECT_EQ(++leading, 1);
          ++led;
          --leading;
        })) << "another thread's resignation is not ours";
    });
  all.clear();
  EXPECT_EQ(led, 40);
}

TEST_F(election_test, notifies_the_running_function_of_a_resignation_by_another_thread) {
  election e{zk, path};
  inbox<bool> leads;
  auto running = run_async([&] {
    return e.run_as_leader([&](const std::stop_token& over) {
      leads.put(true);
      inbox<bool> stopped;
      const std::stop_callback on_stop{over, [&] { stopped.put(true); }};
      EXPECT_TRUE(stopped.take());
    });
  });
  ASSERT_TRUE(leads.take());
  e.resign();
  EXPECT_FALSE(running.get());
}

// --- many candidates

class many_candidates : public election_test, public ::testing::WithParamInterface<std::size_t> {
 protected:
  struct candidate {
    candidate(client& c, const std::string& path, const std::string& id) : e{c, path, named(id)} {}
    election e;
  };
  many_candidates() {
    for (int i = 0; i < 10; ++i)
      clients.push_back(std::make_unique<client>(shared_server().connect_string()));
  }
  // Starts candidates of these clients one after the other.
  void offer(const std::vector<std::size_t>& of) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      all.push_back(
          std::make_unique<candidate>(*clients[of[i]], path, "candidate " + std::to_string(i)));
      all[i]->e.async_campaign([this, i](error_code ec) {
        if (!ec) leads.put(i);
      });
      ASSERT_TRUE(wait_queue.wait_for(i + 1));
    }
  }

  std::vector<std::unique_ptr<client>> clients;
  inbox<std::size_t> leads;
  std::vector<std::unique_ptr<candidate>> all;
};
INSTANTIATE_TEST_SUITE_P(of, many_candidates, ::testing::Values(3, 9, 20, 100));

TEST_P(many_candidates, lead_once_each_in_the_order_of_their_offers) {
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < GetParam(); ++i) of.push_back(i % clients.size());
  std::shuffle(of.begin(), of.end(), std::mt19937{GetParam()});
  offer(of);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < GetParam(); ++i) {
    EXPECT_EQ(all[0]->e.leader()->owner, "candidate " + std::to_string(i));
    const auto next = leads.take();
    ASSERT_TRUE(next);
    ASSERT_EQ(*next, i);
    EXPECT_EQ(leads.size(), 0u) << "two lead";
    EXPECT_GT(all[i]->e.fencing_token(), last);
    last = all[i]->e.fencing_token();
    all[i]->e.async_resign(use_future).get();
  }
  EXPECT_TRUE(wait_queue.contenders().empty());
}

// Sessions end in any order, each with all its candidates. The oldest remaining candidate leads.
TEST_P(many_candidates, sessions_end_in_any_order_and_the_oldest_candidate_leads) {
  std::vector<std::size_t> of;
  std::mt19937 random{GetParam()};
  for (std::size_t i = 0; i < GetParam(); ++i) of.push_back(random() % clients.size());
  offer(of);
  std::vector<std::size_t> order(clients.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  auto left = of.size();
  std::optional<std::size_t> leading = leads.take();
  std::vector<bool> gone(clients.size());
  for (const auto c : order) {
    ASSERT_EQ(leading.has_value(), left > 0);
    clients[c]->close();
    gone[c] = true;
    left -= static_cast<std::size_t>(std::count(of.begin(), of.end(), c));
    ASSERT_TRUE(wait_queue.wait_for(left));
    if (!leading || !gone[of[*leading]]) continue;
    std::optional<std::size_t> oldest;
    for (std::size_t i = 0; i < of.size() && !oldest; ++i)
      if (!gone[of[i]]) oldest = i;
    leading = oldest ? leads.take() : std::nullopt;
    EXPECT_EQ(leading, oldest);
  }
  EXPECT_EQ(leads.size(), 0u);
}

}  // namespace
}  // namespace conclave::testing
