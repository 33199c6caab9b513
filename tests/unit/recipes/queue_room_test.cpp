// Producers that wait for room in a full queue.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class queue_room : public testing::Test {
 protected:
  queue_room() {
    EXPECT_TRUE(w.attach_all());
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
    for (int i = 0; i < items; ++i) made.push_back(hand.create_numbered("/queue/qn-", "item"));
  }

  world w{options()};
  simulated::hand& hand = w.by_hand();
  std::vector<std::string> made;
};

TEST_F(queue_room, is_there_whichever_item_has_gone) {
  fill(4);
  pusher to{link(), 4};
  const auto pushed = to.push("x");
  w.advance(1s);
  ASSERT_FALSE(*pushed);
  hand.remove(made[2]);  // the others are long jobs
  w.advance(1s);
  EXPECT_TRUE(*pushed);
}

TEST_F(queue_room, so_it_is_found_on_servers_without_lasting_watches) {
  fill(4);
  link().falsify_reply(opcode::add_watch, errc::unimplemented);
  pusher to{link(), 4};
  const auto pushed = to.push("x");
  w.advance(1s);
  ASSERT_FALSE(link().fault_pending());
  ASSERT_FALSE(*pushed);
  hand.remove(made[2]);
  w.advance(1s);
  EXPECT_TRUE(*pushed);
}

TEST_F(queue_room, is_still_watched_for_over_a_lost_connection) {
  fill(2);
  pusher to{link(), 2};
  const auto pushed = to.push("x");
  w.advance(1s);
  link().refuse_connections(true);
  link().cut();
  hand.remove(made[0]);
  w.advance(500ms);
  link().refuse_connections(false);
  w.advance(5s);
  EXPECT_TRUE(*pushed);
}

TEST_F(queue_room, who_will_not_wait_for_it_is_told_at_once_though_another_waits) {
  fill(1);
  pusher to{link(), 1};
  const auto waits = to.push("x");
  w.advance(1s);
  const auto at_once = to.push("y", false);
  w.advance(1s);
  ASSERT_TRUE(*at_once);
  EXPECT_EQ(**at_once, errc::taken);
  EXPECT_FALSE(*waits);
}

TEST_F(queue_room, is_not_taken_up_by_what_is_no_item) {
  hand.create("/queue/stray");
  pusher to{link(), 1};
  const auto pushed = to.push("x");
  w.advance(2s);
  EXPECT_TRUE(*pushed);
  EXPECT_LT(link().traffic().all(), 20) << to_string(link().traffic());
}

TEST_F(queue_room, is_found_behind_a_stray_that_came_while_the_queue_was_full) {
  fill(1);
  pusher to{link(), 1};
  const auto pushed = to.push("x");
  w.advance(1s);
  hand.create("/queue/stray");
  w.advance(1s);
  EXPECT_FALSE(*pushed);
  hand.remove(made[0]);
  w.advance(1s);
  EXPECT_TRUE(*pushed);
}

TEST_F(queue_room, is_waited_for_without_listing_a_full_queue_again_and_again) {
  fill(1000);
  pusher to{link(), 1000};
  std::vector<pusher::answer> pushed;
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

TEST_F(queue_room, leaves_no_watch_behind_when_nobody_waits_for_it_any_more) {
  fill(1);
  pusher to{link(), 1};
  const auto pushed = to.push("x");
  w.advance(1s);
  hand.remove(made[0]);
  w.advance(1s);
  EXPECT_TRUE(*pushed);
  EXPECT_EQ(link().machine().watch_count(), 0u);
}

TEST_F(queue_room, what_was_once_the_matter_is_not_told_to_the_next_push) {
  fill(1);
  pusher to{link(), 1};
  link().swallow_request(opcode::create2);  // of the place in the line
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

TEST_F(queue_room, a_place_in_its_line_that_was_deleted_by_hand_is_taken_again) {
  fill(1);
  hand.create("/queue.conclave"), hand.create("/queue.conclave/room");
  const auto somebody = hand.create_numbered("/queue.conclave/room/lock-");
  pusher to{link(), 1};
  const auto pushed = to.push("x");
  w.advance(1s);
  for (const auto& name : hand.children("/queue.conclave/room"))
    if (const auto node = "/queue.conclave/room/" + name; node != somebody) hand.remove(node);
  w.advance(1s);
  EXPECT_FALSE(*pushed) << (*pushed)->message();
  EXPECT_EQ(hand.children("/queue.conclave/room").size(), 2u);
}

}  // namespace
}  // namespace conclave::simulated
