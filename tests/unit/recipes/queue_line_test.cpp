// Consumers that stand in line for an item: whoever is the first watches for all of them.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

class queue_line : public testing::Test {
 protected:
  queue_line() { EXPECT_TRUE(w.attach_all()); }
  static world_options options() {
    world_options o;
    o.clients = 3;
    o.connect_wait = 1s;
    return o;
  }
  void push(const std::string& item) { w.by_hand().create_numbered("/queue/qn-", item); }
  // Whether it hears of an item without having to look for itself.
  testing::AssertionResult hears_at_once(taker& who) {
    const auto before = who.told;
    const auto pushed = w.now();
    push("item");
    if (!w.run_until([&] { return who.told > before; })) return testing::AssertionFailure();
    if (w.now() - pushed < 500ms) return testing::AssertionSuccess();
    return testing::AssertionFailure() << (w.now() - pushed).count() / 1'000'000 << " ms";
  }

  world w{options()};
};

TEST_F(queue_line, one_that_gave_up_while_it_stood_in_it_does_not_hold_up_those_behind_it) {
  taker a{w.client(0)}, b{w.client(1)}, c{w.client(2)};
  a.take();
  w.advance(1s);
  const auto gives_up = b.take();
  w.advance(1s);
  c.take();
  w.advance(1s);
  b.give_up(gives_up);
  push("for the first");
  w.advance(500ms);
  ASSERT_EQ(a.told, 1);
  EXPECT_TRUE(hears_at_once(c));
  c.take();
  w.advance(1s);
  EXPECT_TRUE(hears_at_once(c));
}

TEST_F(queue_line, one_that_failed_to_take_an_item_finds_it_the_next_time) {
  taker a{w.client(0)};
  a.take();
  w.advance(1s);
  auto& link = w.client(0);
  link.swallow_request(wire::opcode::get_data);
  push("item");
  ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
  link.refuse_connections(true);
  w.advance(3s);
  link.refuse_connections(false);
  w.advance(7s);
  ASSERT_EQ(a.told, 1);
  ASSERT_FALSE(a.got);
  a.take();
  w.advance(1s);
  ASSERT_EQ(a.told, 2);
  EXPECT_TRUE(a.got);
}

TEST_F(queue_line, the_first_does_not_keep_its_turn_without_a_watch_when_its_look_failed) {
  taker a{w.client(0)}, b{w.client(1)};
  a.take();
  w.advance(1s);
  b.take();
  w.advance(1s);
  auto& link = w.client(0);
  link.swallow_request(wire::opcode::get_children2);
  w.by_hand().remove(w.by_hand().create_numbered("/queue/qn-"));  // the watch fires, and it looks
  ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
  link.refuse_connections(true);
  w.advance(3s);
  link.refuse_connections(false);
  w.advance(7s);
  EXPECT_EQ(a.told, 1);
  ASSERT_EQ(b.told, 0);
  EXPECT_TRUE(hears_at_once(b));
}

TEST_F(queue_line, a_place_that_was_deleted_by_hand_is_taken_again) {
  auto& hand = w.by_hand();
  hand.create("/queue"), hand.create("/queue.conclave"), hand.create("/queue.conclave/waiting");
  const auto somebody = hand.create_numbered("/queue.conclave/waiting/lock-");
  taker who{w.client(0)};
  who.take();
  w.advance(1s);
  for (const auto& name : hand.children("/queue.conclave/waiting"))
    if (const auto node = "/queue.conclave/waiting/" + name; node != somebody) hand.remove(node);
  w.advance(1s);
  EXPECT_EQ(who.told, 0) << who.ec.message();
  EXPECT_EQ(hand.children("/queue.conclave/waiting").size(), 2u);
}

TEST_F(queue_line, one_that_cannot_look_keeps_the_watch_that_it_has) {
  auto& link = w.client(0);
  {
    taker a{link};
    a.take();
    w.advance(1s);
    const auto watches = link.machine().watch_count();
    link.refuse_connections(true);
    link.cut();
    a.take(false);
    w.advance(5s);
    EXPECT_EQ(a.ec, errc::not_connected);
    EXPECT_EQ(a.told, 2);
    link.refuse_connections(false);
    w.advance(5s);
    a.take();
    w.advance(5s);
    EXPECT_EQ(link.machine().watch_count(), watches);
  }
  w.advance(1s);
  EXPECT_EQ(link.machine().watch_count(), 0u);
}

TEST(queue_session, that_ends_while_nothing_is_taken_is_no_error) {
  world w{{.session_timeout = 10s, .connect_wait = 10min}};
  ASSERT_TRUE(w.attach_all());
  w.by_hand().create("/queue");
  const auto push = [&](const std::string& item) {
    w.by_hand().create_numbered("/queue/qn-", item);
  };
  auto& link = w.client(0);
  taker a{link};
  for (const auto what : {wire::opcode::get_children2, wire::opcode::get_data}) {
    SCOPED_TRACE(static_cast<int>(what));
    const auto session = link.session().id;
    const auto before = a.told;
    link.swallow_request(what);
    a.take();
    if (what == wire::opcode::get_data) push("item");
    ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
    link.pause();  // it will hear of the end when it goes on
    w.advance(5min);
    link.resume();
    w.advance(5s);
    EXPECT_NE(link.session().id, session);
    if (what == wire::opcode::get_children2) push("item");
    w.advance(5s);
    EXPECT_EQ(a.told, before + 1);
    EXPECT_TRUE(a.got) << a.ec.message();
  }
}

}  // namespace
}  // namespace conclave::simulated
