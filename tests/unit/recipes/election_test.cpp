// Candidates of an election: the leader and the reported steps.
#include <algorithm>
#include <random>

#include "election_world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

world_options ten_seconds(std::size_t clients) {
  world_options o;
  o.clients = clients;
  o.session_timeout = 10s;
  o.connect_wait = 10min;
  return o;
}

lines steps(const locker_pointer& l, std::size_t from = 0) {
  lines all;
  for (auto i = from; i < l->events().size(); ++i) all.push_back(to_string(l->events()[i].type));
  return all;
}

class election : public testing::Test, protected election_world {
 protected:
  election() : election_world{ten_seconds(3)} {}
  client& first() { return c.world.client(0); }
};

// --- steps

TEST_F(election, one_candidate_reports_every_step_in_order) {
  const auto l = candidate(0);
  EXPECT_EQ(l->state(), election_state::stop);
  const auto a = leader(l);
  EXPECT_EQ(l->state(), election_state::elected);
  l->unlock(a);
  EXPECT_EQ(l->state(), election_state::stop);
  c.check_end();
  EXPECT_EQ(steps(l), (lines{"start", "offer_start", "offer_complete", "determine_start",
                             "determine_complete", "elected_start", "elected_complete",
                             "stop_start", "stop_complete"}));
  EXPECT_EQ(l->events()[1].node, "");
  for (std::size_t i = 2; i < l->events().size(); ++i)
    EXPECT_EQ(l->events()[i].node, path + "/n_0000000000") << i;
}

TEST_F(election, a_waiting_candidate_is_ready_and_then_elected_without_a_request) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  EXPECT_EQ(m->state(), election_state::ready);
  c.finish_pending_work();
  const auto before = c.world.client(1).traffic();
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  const auto cost = c.world.client(1).traffic() - before;
  EXPECT_EQ(cost.all(), 0) << to_string(cost);
  EXPECT_EQ(cost.events, 1);
  EXPECT_EQ(steps(m),
            (lines{"start", "offer_start", "offer_complete", "determine_start",
                   "determine_complete", "ready_start", "ready_complete", "determine_start",
                   "determine_complete", "elected_start", "elected_complete"}));
  m->unlock(b);
  c.check_end();
}

TEST_F(election, steps_are_reported_once_although_the_connection_is_lost) {
  const auto l = candidate(1), m = candidate(0);
  const auto a = leader(l);
  const auto b = ready(m);
  const auto reported = m->events().size();
  first().disconnect();
  c.finish_pending_work();
  c.world.by_hand().set(a->hold->nodes()[0], "something else");
  c.finish_pending_work();
  EXPECT_EQ(steps(m, reported), lines{});
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
}

TEST_F(election, a_waiting_candidate_that_resigns_is_notified) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  const auto reported = m->events().size();
  m->close();
  EXPECT_EQ(b->completions, 1);
  EXPECT_EQ(b->ec, errc::closed);
  EXPECT_EQ(m->state(), election_state::stop);
  int gone = 0;
  m->when_all_gone([&] { ++gone; });
  EXPECT_EQ(gone, 0);
  ASSERT_TRUE(c.run_until([&] { return gone > 0; }));
  EXPECT_EQ(c.children(path).size(), 1u);
  EXPECT_EQ(steps(m, reported), (lines{"stop_start", "stop_complete"}));
  l->unlock(a);
  c.check_end();
  m->when_all_gone([&] { ++gone; });
  EXPECT_EQ(gone, 2);  // called at once
}

TEST_F(election, a_leader_that_resigns_and_campaigns_again_is_last) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  l->unlock(a);
  const auto again = l->lock();
  EXPECT_EQ(l->state(), election_state::offer);
  ASSERT_TRUE(c.granted(b));
  c.finish_pending_work();
  EXPECT_EQ(l->state(), election_state::ready);
  EXPECT_EQ(l->events().back().type, election_event::kind::ready_complete);
  const auto all = steps(l);
  EXPECT_EQ(std::count(all.begin(), all.end(), "stop_complete"), 1);
  m->unlock(b);
  ASSERT_TRUE(c.granted(again));
  l->unlock(again);
  c.check_end();
}

TEST_F(election, a_candidate_that_does_not_wait_stops_without_a_failure) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = m->try_lock();
  ASSERT_TRUE(c.completed(b));
  EXPECT_EQ(b->ec, errc::lock_busy);
  EXPECT_EQ(m->state(), election_state::stop);
  c.finish_pending_work();
  EXPECT_EQ(steps(m), (lines{"start", "offer_start", "offer_complete", "determine_start",
                             "stop_start", "stop_complete"}));
  l->unlock(a);
  c.check_end();
}

// --- the wait queue

TEST_F(election, a_waiting_candidate_that_fails_wakes_one_candidate_and_elects_none) {
  for (int i = 0; i < 2; ++i) c.world.add_client();
  ASSERT_TRUE(c.world.wait_until_connected());
  std::vector<locker_pointer> all;
  std::vector<call_pointer> calls;
  for (std::size_t i = 0; i < 5; ++i) {
    all.push_back(candidate(i));
    calls.push_back(i == 0 ? leader(all[0]) : ready(all[i]));
  }
  c.finish_pending_work();
  std::vector<traffic> before;
  for (std::size_t i = 0; i < 5; ++i) before.push_back(c.world.client(i).traffic());
  all[2]->give_up(calls[2]);
  c.finish_pending_work();
  for (std::size_t i = 0; i < 5; ++i) {
    const auto cost = c.world.client(i).traffic() - before[i];
    if (i == 2) continue;
    EXPECT_EQ(cost.events, i == 3 ? 1 : 0) << i;
    // The successor reads the record, lists the wait queue and watches its new predecessor.
    EXPECT_EQ(cost.all(), i == 3 ? 3 : 0) << i << ": " << to_string(cost);
  }
  EXPECT_EQ(calls[3]->completions, 0);
  EXPECT_EQ(all[3]->state(), election_state::ready);
  for (const std::size_t i : {0u, 1u, 3u, 4u}) {
    ASSERT_TRUE(c.granted(calls[i])) << i;
    all[i]->unlock(calls[i]);
  }
  c.check_end();
}

class candidates : public testing::TestWithParam<std::size_t>, protected election_world {
 protected:
  candidates() : election_world{ten_seconds(7)} {}
  void expect_all_lead_in_order(const std::vector<std::size_t>& clients) {
    std::vector<std::size_t> led;
    std::vector<locker_pointer> all;
    std::vector<call_pointer> calls(clients.size());
    for (std::size_t i = 0; i < clients.size(); ++i) {
      all.push_back(candidate(clients[i], "host " + std::to_string(i)));
      calls[i] = all[i]->lock(role::exclusive, [&, i] {
        led.push_back(i);
        c.world.after(1ms, [&, i] { all[i]->unlock(calls[i]); });
      });
      if (i % 5 == 0) c.world.advance(700us);
    }
    const auto order = [&] {
      auto by_token = led;
      std::sort(by_token.begin(), by_token.end(),
                [&](auto a, auto b) { return calls[a]->hold->token() < calls[b]->hold->token(); });
      return by_token;
    };
    ASSERT_TRUE(c.run_until([&] { return led.size() == clients.size(); }));
    EXPECT_EQ(led, order());
    c.check_end();
    for (const auto& l : all)
      EXPECT_EQ(l->events().back().type, election_event::kind::stop_complete);
  }
};
INSTANTIATE_TEST_SUITE_P(of, candidates, testing::Values(3, 9, 20, 100));

TEST_P(candidates, lead_once_each_in_the_order_of_their_offers) {
  std::vector<std::size_t> clients;
  for (std::size_t i = 0; i < GetParam(); ++i) clients.push_back(i % 7);
  expect_all_lead_in_order(clients);
}

TEST_P(candidates, lead_once_each_if_their_offers_arrive_in_any_order) {
  std::mt19937 random{GetParam() * 17u};
  for (int round = 0; round < 3; ++round) {
    std::vector<std::size_t> clients;
    for (std::size_t i = 0; i < GetParam(); ++i) clients.push_back(random() % 7);
    expect_all_lead_in_order(clients);
  }
}

// Candidates resign in any order, leading or not. The oldest remaining candidate always leads.
TEST_P(candidates, leave_in_any_order_and_the_oldest_leads) {
  std::vector<locker_pointer> all;
  std::vector<call_pointer> calls;
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < GetParam(); ++i) {
    all.push_back(candidate(i % 7));
    calls.push_back(i == 0 ? leader(all[0]) : ready(all[i]));
    left.push_back(i);
  }
  std::mt19937 random{GetParam()};
  while (left.size() > 1) {
    const auto k = random() % left.size();
    all[left[k]]->close();
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
    ASSERT_TRUE(c.granted(calls[left.front()]));
    c.world.advance(50ms);
    for (std::size_t i = 1; i < left.size(); ++i) ASSERT_EQ(calls[left[i]]->completions, 0);
  }
  all[left[0]]->close();
  c.check_end();
}

// --- expired sessions and nodes deleted by hand

TEST_F(election, a_waiting_candidate_whose_session_expires_campaigns_again) {
  const auto l = candidate(1), m = candidate(0), n = candidate(2);
  const auto a = leader(l);
  const auto b = ready(m);
  const auto d = ready(n);
  const auto reported = m->events().size();
  expire(0);
  c.finish_pending_work();
  EXPECT_EQ(b->completions, 0);
  EXPECT_EQ(steps(m, reported), (lines{"offer_start", "offer_complete", "determine_start",
                                       "determine_complete", "ready_start", "ready_complete"}));
  EXPECT_EQ(m->events()[reported].node, "");
  EXPECT_EQ(m->events()[reported + 1].node, path + "/n_0000000003");
  l->unlock(a);
  ASSERT_TRUE(c.granted(d));
  EXPECT_EQ(b->completions, 0);
  n->unlock(d);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
}

TEST_F(election, a_leader_may_campaign_again_after_a_loss_without_resigning) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  const auto reported = l->events().size();
  expire(0);
  EXPECT_TRUE(a->lost());
  EXPECT_EQ(l->journal(), (lines{"suspended", "lost deadline_passed"}));
  EXPECT_EQ(steps(l, reported), lines{"failed"});
  EXPECT_EQ(l->events().back().why, errc::deadline_passed);
  EXPECT_EQ(l->state(), election_state::failed);
  ASSERT_TRUE(c.granted(b));
  EXPECT_GT(b->completed_at, a->lost_at);
  const auto again = l->lock();
  c.finish_pending_work();
  EXPECT_EQ(l->state(), election_state::ready);
  l->unlock(a);  // has no effect: the hold was lost
  c.finish_pending_work();
  EXPECT_EQ(l->state(), election_state::ready);
  m->unlock(b);
  ASSERT_TRUE(c.granted(again));
  EXPECT_GT(again->hold->token(), b->hold->token());
  l->unlock(again);
  c.check_end();
}

TEST_F(election, a_local_waiter_campaigns_when_leadership_is_lost) {
  const auto l = candidate(0);
  const auto a = leader(l);
  const auto b = l->lock();
  expire(0);
  EXPECT_TRUE(a->lost());
  ASSERT_TRUE(c.granted(b));
  EXPECT_NE(b->hold->session(), a->hold->session());
  l->unlock(b);
  c.check_end();
}

TEST_F(election, waiting_fails_if_the_path_is_removed_and_then_works_again) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  for (const auto& name : {"/n_0000000001", "/n_0000000000", ""})
    ASSERT_FALSE(c.world.by_hand().remove(path + name));
  ASSERT_TRUE(c.completed(b));
  EXPECT_EQ(b->ec, errc::waiter_node_deleted);
  EXPECT_EQ(m->events().back().type, election_event::kind::failed);
  EXPECT_EQ(m->events().back().why, errc::waiter_node_deleted);
  EXPECT_EQ(m->state(), election_state::failed);
  ASSERT_TRUE(c.lost(a));
  const auto again = leader(m);
  EXPECT_EQ(c.children(path), lines{"n_0000000000"});
  const auto behind = ready(l);
  m->unlock(again);
  ASSERT_TRUE(c.granted(behind));
  l->unlock(behind);
  c.check_end();
}

TEST_F(election, leadership_is_lost_if_the_node_is_removed) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  c.world.advance(200ms);
  const auto node = a->hold->nodes()[0];
  c.judge->note_deletion(node, c.world.by_hand().get(node).stat, true);
  c.world.by_hand().remove(node);
  ASSERT_TRUE(c.lost(a));
  EXPECT_EQ(l->events().back().type, election_event::kind::failed);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
}

TEST_F(election, fails_if_nodes_have_another_layout) {
  ASSERT_FALSE(c.world.by_hand().create(path + "/latch-0000000000"));
  const auto l = candidate(0);
  const auto a = l->lock();
  ASSERT_TRUE(c.completed(a));
  EXPECT_EQ(a->ec, errc::layout_mismatch);
  EXPECT_EQ(l->events().back().type, election_event::kind::failed);
  c.finish_pending_work();
  EXPECT_EQ(c.children(path), lines{"latch-0000000000"});
}

TEST_F(election, leadership_is_lost_when_the_client_is_closed) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  first().close();
  ASSERT_TRUE(c.lost(a));
  EXPECT_EQ(l->events().back().why, errc::closed);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.finish_pending_work();
  EXPECT_TRUE(c.children(path).empty());
}

}  // namespace
}  // namespace conclave::simulated
