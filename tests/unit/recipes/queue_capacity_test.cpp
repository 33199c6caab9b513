// Producers that wait for capacity in a full queue.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class queue_capacity : public testing::Test {
 protected:
  queue_capacity() {
    EXPECT_TRUE(w.wait_until_connected());
    hand.create("/queue");
  }
  static world_options options() {
    world_options o;
    o.clients = 2;
    o.connect_wait = 1s;
    return o;
  }
  client& link() { return w.client(0); }
  void fill(int items) {
    for (int i = 0; i < items; ++i) made.push_back(hand.create_sequential("/queue/qn-", "item"));
  }

  world w{options()};
  simulated::direct_client& hand = w.by_hand();
  std::vector<std::string> made;
};

TEST_F(queue_capacity, a_push_continues_after_any_item_was_removed) {
  fill(4);
  test_producer to{link(), 4};
  const auto pushed = to.push("x");
  w.advance(1s);
  ASSERT_FALSE(*pushed);
  hand.remove(made[2]);  // not the first one
  w.advance(1s);
  EXPECT_TRUE(*pushed);
}

TEST_F(queue_capacity, a_push_continues_on_servers_without_persistent_watches) {
  fill(4);
  link().replace_reply(opcode::add_watch, errc::unimplemented);
  test_producer to{link(), 4};
  const auto pushed = to.push("x");
  w.advance(1s);
  ASSERT_FALSE(link().fault_pending());
  ASSERT_FALSE(*pushed);
  hand.remove(made[2]);
  w.advance(1s);
  EXPECT_TRUE(*pushed);
}

TEST_F(queue_capacity, a_push_continues_after_a_reconnect) {
  fill(2);
  test_producer to{link(), 2};
  const auto pushed = to.push("x");
  w.advance(1s);
  link().refuse_connections(true);
  link().disconnect();
  hand.remove(made[0]);
  w.advance(500ms);
  link().refuse_connections(false);
  w.advance(5s);
  EXPECT_TRUE(*pushed);
}

TEST_F(queue_capacity, a_push_that_does_not_wait_fails_while_another_waits) {
  fill(1);
  test_producer to{link(), 1};
  const auto waits = to.push("x");
  w.advance(1s);
  const auto at_once = to.push("y", false);
  w.advance(1s);
  ASSERT_TRUE(*at_once);
  EXPECT_EQ(**at_once, errc::lock_busy);
  EXPECT_FALSE(*waits);
}

TEST_F(queue_capacity, foreign_children_do_not_count) {
  hand.create("/queue/foreign");
  test_producer to{link(), 1};
  const auto pushed = to.push("x");
  w.advance(2s);
  EXPECT_TRUE(*pushed);
  EXPECT_LT(link().traffic().all(), 20) << to_string(link().traffic());
}

TEST_F(queue_capacity, a_foreign_child_created_while_waiting_does_not_count) {
  fill(1);
  test_producer to{link(), 1};
  const auto pushed = to.push("x");
  w.advance(1s);
  hand.create("/queue/foreign");
  w.advance(1s);
  EXPECT_FALSE(*pushed);
  hand.remove(made[0]);
  w.advance(1s);
  EXPECT_TRUE(*pushed);
}

TEST_F(queue_capacity, a_full_queue_is_not_listed_for_every_item) {
  fill(1000);
  test_producer to{link(), 1000};
  std::vector<test_producer::push_result> pushed;
  for (int i = 0; i < 100; ++i) pushed.push_back(to.push("x"));
  w.advance(1s);
  const auto before = link().traffic();
  for (int i = 0; i < 100; ++i) {
    hand.remove(made[static_cast<std::size_t>(i)]);
    w.advance(100ms);
    EXPECT_TRUE(*pushed[static_cast<std::size_t>(i)]) << i;
  }
  const auto cost = link().traffic() - before;
  EXPECT_LE(cost.of(opcode::get_children2), 1) << to_string(cost);
  EXPECT_LT(cost.bytes_down, 100'000u) << to_string(cost);
}

TEST_F(queue_capacity, the_watch_is_removed_when_no_push_waits) {
  fill(1);
  test_producer to{link(), 1};
  const auto pushed = to.push("x");
  w.advance(1s);
  hand.remove(made[0]);
  w.advance(1s);
  EXPECT_TRUE(*pushed);
  EXPECT_EQ(link().machine().watch_count(), 0u);
}

TEST_F(queue_capacity, an_error_is_not_reported_to_the_next_push) {
  fill(1);
  test_producer to{link(), 1};
  link().drop_request(opcode::create2);  // of the node in the wait queue
  const auto first = to.push("x");
  ASSERT_TRUE(w.run_until([&] { return !link().fault_pending(); }));
  link().refuse_connections(true);
  w.advance(5s);
  link().refuse_connections(false);
  w.advance(60s);
  EXPECT_TRUE(*first);
  const auto second = to.push("y");
  w.advance(5s);
  EXPECT_FALSE(*second) << (*second)->message();
}

TEST_F(queue_capacity, a_producer_whose_node_was_deleted_enters_again) {
  fill(1);
  hand.create("/queue.conclave"), hand.create("/queue.conclave/room");
  const auto predecessor = hand.create_sequential("/queue.conclave/room/lock-");
  test_producer to{link(), 1};
  const auto pushed = to.push("x");
  w.advance(1s);
  for (const auto& name : hand.children("/queue.conclave/room"))
    if (const auto node = "/queue.conclave/room/" + name; node != predecessor) hand.remove(node);
  w.advance(1s);
  EXPECT_FALSE(*pushed) << (*pushed)->message();
  EXPECT_EQ(hand.children("/queue.conclave/room").size(), 2u);
}

}  // namespace
}  // namespace conclave::simulated
