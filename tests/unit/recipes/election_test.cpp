// Candidates of an election: who leads, and what they are told on the way.
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

TEST_F(election, of_one_candidate_goes_through_every_step_in_order) {
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

TEST_F(election, a_candidate_behind_another_is_ready_and_then_elected_without_another_look) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  EXPECT_EQ(m->state(), election_state::ready);
  c.quieten();
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

TEST_F(election, steps_are_told_once_though_the_connection_is_lost_in_between) {
  const auto l = candidate(1), m = candidate(0);
  const auto a = leader(l);
  const auto b = ready(m);
  const auto told = m->events().size();
  first().cut();
  c.quieten();
  c.world.by_hand().set(a->hold->nodes()[0], "something else");
  c.quieten();
  EXPECT_EQ(steps(m, told), lines{});
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
}

TEST_F(election, a_candidate_that_resigns_while_it_waits_is_told_so) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  const auto told = m->events().size();
  m->close();
  EXPECT_EQ(b->told, 1);
  EXPECT_EQ(b->ec, errc::closed);
  EXPECT_EQ(m->state(), election_state::stop);
  int gone = 0;
  m->when_all_gone([&] { ++gone; });
  EXPECT_EQ(gone, 0);
  ASSERT_TRUE(c.run_until([&] { return gone > 0; }));
  EXPECT_EQ(c.children(path).size(), 1u);
  EXPECT_EQ(steps(m, told), (lines{"stop_start", "stop_complete"}));
  l->unlock(a);
  c.check_end();
  m->when_all_gone([&] { ++gone; });
  EXPECT_EQ(gone, 2);  // nothing is left to wait for
}

TEST_F(election, resigned_and_standing_again_at_once_is_the_last_of_the_line) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  l->unlock(a);
  const auto again = l->lock();
  EXPECT_EQ(l->state(), election_state::offer);
  ASSERT_TRUE(c.granted(b));
  c.quieten();
  EXPECT_EQ(l->state(), election_state::ready);
  EXPECT_EQ(l->events().back().type, election_event::kind::ready_complete);
  const auto all = steps(l);
  EXPECT_EQ(std::count(all.begin(), all.end(), "stop_complete"), 1);
  m->unlock(b);
  ASSERT_TRUE(c.granted(again));
  l->unlock(again);
  c.check_end();
}

TEST_F(election, one_that_would_not_wait_stops_without_having_failed) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = m->try_lock();
  ASSERT_TRUE(c.told(b));
  EXPECT_EQ(b->ec, errc::lock_busy);
  EXPECT_EQ(m->state(), election_state::stop);
  c.quieten();
  EXPECT_EQ(steps(m), (lines{"start", "offer_start", "offer_complete", "determine_start",
                             "stop_start", "stop_complete"}));
  l->unlock(a);
  c.check_end();
}

// --- the line

TEST_F(election, a_candidate_that_fails_in_the_middle_wakes_one_neighbour_and_elects_nobody) {
  for (int i = 0; i < 2; ++i) c.world.add_client();
  ASSERT_TRUE(c.world.attach_all());
  std::vector<locker_pointer> all;
  std::vector<call_pointer> calls;
  for (std::size_t i = 0; i < 5; ++i) {
    all.push_back(candidate(i));
    calls.push_back(i == 0 ? leader(all[0]) : ready(all[i]));
  }
  c.quieten();
  std::vector<traffic> before;
  for (std::size_t i = 0; i < 5; ++i) before.push_back(c.world.client(i).traffic());
  all[2]->give_up(calls[2]);
  c.quieten();
  for (std::size_t i = 0; i < 5; ++i) {
    const auto cost = c.world.client(i).traffic() - before[i];
    if (i == 2) continue;
    EXPECT_EQ(cost.events, i == 3 ? 1 : 0) << i;
    // The neighbour looks at the line, and watches the one who is before it now.
    EXPECT_EQ(cost.all(), i == 3 ? 2 : 0) << i << ": " << to_string(cost);
  }
  EXPECT_EQ(calls[3]->told, 0);
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

TEST_P(candidates, each_leads_once_in_the_order_of_the_offers) {
  std::vector<std::size_t> clients;
  for (std::size_t i = 0; i < GetParam(); ++i) clients.push_back(i % 7);
  expect_all_lead_in_order(clients);
}

TEST_P(candidates, each_leads_once_when_offers_come_in_any_order) {
  std::mt19937 random{GetParam() * 17u};
  for (int round = 0; round < 3; ++round) {
    std::vector<std::size_t> clients;
    for (std::size_t i = 0; i < GetParam(); ++i) clients.push_back(random() % 7);
    expect_all_lead_in_order(clients);
  }
}

// They resign in any order, leading or not: there is always exactly one leader, the oldest left.
TEST_P(candidates, going_in_any_order_leaves_the_oldest_to_lead) {
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
    for (std::size_t i = 1; i < left.size(); ++i) ASSERT_EQ(calls[left[i]]->told, 0);
  }
  all[left[0]]->close();
  c.check_end();
}

// --- the end of sessions, and hands that reach into the tree

TEST_F(election, a_waiting_candidate_whose_session_expires_stands_again) {
  const auto l = candidate(1), m = candidate(0), n = candidate(2);
  const auto a = leader(l);
  const auto b = ready(m);
  const auto d = ready(n);
  const auto told = m->events().size();
  expire(0);
  c.quieten();
  EXPECT_EQ(b->told, 0);
  EXPECT_EQ(steps(m, told), (lines{"offer_start", "offer_complete", "determine_start",
                                   "determine_complete", "ready_start", "ready_complete"}));
  EXPECT_EQ(m->events()[told].node, "");
  EXPECT_EQ(m->events()[told + 1].node, path + "/n_0000000003");
  l->unlock(a);
  ASSERT_TRUE(c.granted(d));
  EXPECT_EQ(b->told, 0);
  n->unlock(d);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
}

TEST_F(election, a_leader_that_is_lost_may_stand_again_without_resigning) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  const auto told = l->events().size();
  expire(0);
  EXPECT_TRUE(a->lost());
  EXPECT_EQ(l->journal(), (lines{"suspended", "lost deadline_passed"}));
  EXPECT_EQ(steps(l, told), lines{"failed"});
  EXPECT_EQ(l->events().back().why, errc::deadline_passed);
  EXPECT_EQ(l->state(), election_state::failed);
  ASSERT_TRUE(c.granted(b));
  EXPECT_GT(b->told_at, a->lost_at);
  const auto again = l->lock();
  c.quieten();
  EXPECT_EQ(l->state(), election_state::ready);
  l->unlock(a);  // what is over already harms nobody
  c.quieten();
  EXPECT_EQ(l->state(), election_state::ready);
  m->unlock(b);
  ASSERT_TRUE(c.granted(again));
  EXPECT_GT(again->hold->token(), b->hold->token());
  l->unlock(again);
  c.check_end();
}

TEST_F(election, a_caller_that_waits_its_turn_in_the_object_stands_when_leadership_is_lost) {
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

TEST_F(election, whose_path_is_removed_while_it_waits_fails_and_works_again) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  for (const auto& name : {"/n_0000000001", "/n_0000000000", ""})
    ASSERT_FALSE(c.world.by_hand().remove(path + name));
  ASSERT_TRUE(c.told(b));
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

TEST_F(election, whose_node_is_removed_while_it_leads_is_over) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  c.world.advance(200ms);
  const auto node = a->hold->nodes()[0];
  c.judge->note_robbery(node, c.world.by_hand().get(node).stat, true);
  c.world.by_hand().remove(node);
  ASSERT_TRUE(c.lost(a));
  EXPECT_EQ(l->events().back().type, election_event::kind::failed);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
}

TEST_F(election, among_nodes_of_another_layout_fails) {
  ASSERT_FALSE(c.world.by_hand().create(path + "/latch-0000000000"));
  const auto l = candidate(0);
  const auto a = l->lock();
  ASSERT_TRUE(c.told(a));
  EXPECT_EQ(a->ec, errc::layout_mismatch);
  EXPECT_EQ(l->events().back().type, election_event::kind::failed);
  c.quieten();
  EXPECT_EQ(c.children(path), lines{"latch-0000000000"});
}

TEST_F(election, ends_with_its_client) {
  const auto l = candidate(0), m = candidate(1);
  const auto a = leader(l);
  const auto b = ready(m);
  first().close();
  ASSERT_TRUE(c.lost(a));
  EXPECT_EQ(l->events().back().why, errc::closed);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.quieten();
  EXPECT_TRUE(c.children(path).empty());
}

}  // namespace
}  // namespace conclave::simulated
