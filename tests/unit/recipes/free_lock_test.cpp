// A lock without contention: number of requests and round trips.
#include <gtest/gtest.h>

#include "attempt.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class free_lock : public testing::TestWithParam<bool> {
 protected:
  contender_world c{{.clients = 2}, GetParam()};
  client& first() { return c.world.client(0); }
  void SetUp() override { c.world.by_hand().create("/locks"); }
};
INSTANTIATE_TEST_SUITE_P(tickets, free_lock, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(free_lock, is_granted_after_one_round_trip_with_tickets_and_two_without) {
  c.world.by_hand().create("/locks/one");
  const auto began = c.world.now();
  const auto before = first().traffic();
  const auto a = c.begin(0);
  ASSERT_TRUE(c.granted(a));
  EXPECT_EQ(a->granted_at - began, GetParam() ? 2ms : 4ms);
  const auto sent = first().traffic() - before;
  EXPECT_EQ(sent.of(opcode::create2), 1);
  EXPECT_EQ(sent.of(opcode::get_data), GetParam() ? 1 : 0);
  EXPECT_EQ(sent.of(opcode::get_children2) + sent.of(opcode::get_children), GetParam() ? 0 : 1);
  EXPECT_EQ(sent.all(), 2) << to_string(sent);
  EXPECT_EQ(sent.packets, GetParam() ? 1 : 2);
  EXPECT_EQ(c.children(), std::vector<std::string>{"lock-0000000000"});
  EXPECT_EQ(a->path(), "/locks/one/lock-0000000000");
  EXPECT_EQ(a->session(), first().machine().session_id());
}

TEST_P(free_lock, release_is_one_request) {
  const auto a = c.begin(0);
  ASSERT_TRUE(c.granted(a));
  const auto before = first().traffic();
  a->leave();
  const auto sent = first().traffic() - before;
  EXPECT_EQ(sent.of(opcode::multi), GetParam() ? 1 : 0);
  EXPECT_EQ(sent.of(opcode::remove), GetParam() ? 0 : 1);
  EXPECT_EQ(sent.all(), 1) << to_string(sent);
  EXPECT_FALSE(a->done());
  ASSERT_TRUE(c.gone(a));
  EXPECT_TRUE(c.children().empty());
  EXPECT_EQ(a->journal(), (std::vector<std::string>{"granted", "gone"}));
}

TEST_P(free_lock, the_same_client_acquires_again_without_waiting_for_the_release) {
  const auto a = c.begin(0);
  ASSERT_TRUE(c.granted(a));
  const auto before = first().traffic();
  const auto began = c.world.now();
  a->leave();
  const auto b = c.begin(0);
  ASSERT_TRUE(c.granted(b));
  EXPECT_EQ(b->granted_at - began, GetParam() ? 2ms : 4ms);
  const auto sent = first().traffic() - before;
  EXPECT_EQ(sent.all(), 3) << to_string(sent);
  EXPECT_EQ(sent.of(opcode::get_children2), GetParam() ? 0 : 1);
  EXPECT_GT(b->token(), a->token());
  b->leave();
  c.finish_pending_work();
  c.checker().expect_no_orphans();
}

TEST_P(free_lock, creates_its_parents_as_containers_that_the_server_removes) {
  c.request.parents = {"/deep/down/one"};
  const auto a = c.begin(0);
  ASSERT_TRUE(c.granted(a));
  EXPECT_TRUE(c.world.by_hand().exists("/deep/down/one"));
  a->leave();
  c.world.advance(5min);  // one level of them each minute
  EXPECT_FALSE(c.world.by_hand().exists("/deep"));
  const auto b = c.begin(1);
  ASSERT_TRUE(c.granted(b));
  EXPECT_GT(b->token(), a->token());
}

TEST_P(free_lock, leaves_only_the_parent) {
  for (int i = 0; i < 20; ++i) {
    const auto a = c.begin(static_cast<std::size_t>(i % 2));
    ASSERT_TRUE(c.granted(a));
    c.world.advance(150ms);  // the holder now watches its own node
    a->leave();
  }
  c.finish_pending_work();
  c.checker().expect_no_orphans();
  EXPECT_EQ(first().machine().watch_count(), 0u);
  EXPECT_EQ(first().machine().outstanding(), 0u);
  EXPECT_TRUE(first().registered_nodes.empty());
}

}  // namespace
}  // namespace conclave::simulated
