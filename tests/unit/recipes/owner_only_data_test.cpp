// Lost replies to the creation of nodes whose data is only the candidate's id.
#include <algorithm>

#include "election_world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class owner_only_data : public testing::TestWithParam<disconnect_style>, protected election_world {
 protected:
  owner_only_data() : election_world{{.clients = 3, .connect_wait = 10min}} {}
  client& first() { return c.world.client(0); }
  // Starts candidates of one session. All replies to them are lost.
  std::vector<call_pointer> without_replies(const std::vector<locker_pointer>& all) {
    first().drop_reply(opcode::create2, GetParam());
    first().refuse_connections(true);
    std::vector<call_pointer> calls;
    for (const auto& l : all) calls.push_back(l->lock());
    c.world.advance(50ms);
    return calls;
  }
  void connect() {
    first().refuse_connections(false);
    c.finish_pending_work();
  }
  void expect_each_leads(std::vector<std::pair<locker_pointer, call_pointer>> all) {
    while (!all.empty()) {
      const auto leads = [](auto& each) { return each.second->holding(); };
      ASSERT_TRUE(c.run_until([&] { return std::any_of(all.begin(), all.end(), leads); }));
      const auto one = std::find_if(all.begin(), all.end(), leads);
      one->first->unlock(one->second);
      all.erase(one);
    }
    c.check_end();
  }
};
INSTANTIATE_TEST_SUITE_P(disconnect, owner_only_data,
                         testing::Values(disconnect_style{false, false},
                                         disconnect_style{false, true},
                                         disconnect_style{true, false},
                                         disconnect_style{true, true}));

TEST_P(owner_only_data, the_data_contains_only_the_id) {
  const auto l = candidate(0, "mailer-7");
  const auto a = leader(l);
  EXPECT_EQ(ids(), lines{"mailer-7"});
  l->unlock(a);
  c.check_end();
}

TEST_P(owner_only_data, a_node_whose_reply_was_lost_is_found_by_its_data) {
  const auto other = candidate(1);
  const auto a = leader(other);
  const auto l = candidate(0);
  const auto calls = without_replies({l});
  ASSERT_EQ(c.children(path).size(), 2u);
  connect();
  EXPECT_EQ(c.children(path).size(), 2u);
  EXPECT_EQ(l->state(), election_state::ready);
  EXPECT_EQ(l->events()[2].node, path + "/n_0000000001");
  other->unlock(a);
  expect_each_leads({{l, calls[0]}});
}

TEST_P(owner_only_data, two_candidates_of_one_session_with_the_same_id_get_one_node_each) {
  const auto l = candidate(0), m = candidate(0);
  const auto calls = without_replies({l, m});
  const auto made = c.children(path);
  ASSERT_FALSE(made.empty());
  connect();
  // No node was removed. A candidate that found none has created one.
  const auto now = c.children(path);
  EXPECT_EQ(now.size(), 2u);
  EXPECT_TRUE(std::includes(now.begin(), now.end(), made.begin(), made.end()));
  expect_each_leads({{l, calls[0]}, {m, calls[1]}});
}

TEST_P(owner_only_data, two_candidates_of_one_session_with_different_ids_find_their_own_nodes) {
  const auto l = candidate(0, "one"), m = candidate(0, "two");
  const auto calls = without_replies({l, m});
  connect();
  const auto node_of = [](const locker_pointer& who) {
    std::string node;
    for (const auto& e : who->events())
      if (!e.node.empty()) node = e.node;
    return node;
  };
  EXPECT_EQ(ids().size(), 2u);
  EXPECT_EQ(c.world.by_hand().get(node_of(l)).data, "one");
  EXPECT_EQ(c.world.by_hand().get(node_of(m)).data, "two");
  expect_each_leads({{l, calls[0]}, {m, calls[1]}});
}

TEST_P(owner_only_data, an_overwritten_node_is_removed_and_created_again) {
  const auto l = candidate(0, "one");
  const auto calls = without_replies({l});
  ASSERT_EQ(c.children(path), lines{"n_0000000000"});
  c.world.by_hand().set(path + "/n_0000000000", "two");
  connect();
  EXPECT_EQ(ids(), lines{"one"});
  EXPECT_EQ(c.children(path), lines{"n_0000000001"});
  expect_each_leads({{l, calls[0]}});
}

TEST_P(owner_only_data, nodes_of_other_candidates_of_the_session_are_not_used) {
  const auto l = candidate(0), m = candidate(0);
  const auto a = leader(l);
  const auto calls = without_replies({m});
  ASSERT_EQ(c.children(path).size(), 2u);
  connect();
  EXPECT_EQ(c.children(path).size(), 2u);
  EXPECT_TRUE(a->holding());
  EXPECT_EQ(m->state(), election_state::ready);
  l->unlock(a);
  expect_each_leads({{m, calls[0]}});
}

TEST_P(owner_only_data, a_candidate_that_gives_up_leaves_no_node) {
  const auto l = candidate(0), m = candidate(0);
  const auto calls = without_replies({l, m});
  l->give_up(calls[0]);
  connect();
  EXPECT_EQ(c.children(path).size(), 1u);
  expect_each_leads({{m, calls[1]}});
}

}  // namespace
}  // namespace conclave::simulated
