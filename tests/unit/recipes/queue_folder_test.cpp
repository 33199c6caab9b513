// Folders of items that are removed and created again: names and versions start anew, and an item
// must not be taken for one of the same name that was there before.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class queue_folder : public testing::Test {
 protected:
  queue_folder() { EXPECT_TRUE(w.attach_all()); }
  static world_options options() {
    world_options o;
    o.server.reap_interval = 100ms;
    o.connect_wait = 10min;
    return o;
  }
  // As Curator's SimpleDistributedQueue pushes.
  void push(std::initializer_list<const char*> items) {
    hand.create("/queue", {}, create_mode::container);
    for (const auto* item : items)
      ASSERT_FALSE(hand.create("/queue/qn-", item, create_mode::persistent_sequential));
  }
  std::string take(taker& who) {
    const auto before = who.told;
    who.take();
    if (!w.run_until([&] { return who.told > before; }, 1min)) return "nothing told";
    if (!who.got) return who.ec.message();
    return who.got->claim ? who.got->claim->item().data : who.got->item.data;
  }
  // By an operator, and then by others as before: items of the same names.
  void remove_folder() {
    for (const auto& name : hand.children("/queue/conclave"))
      hand.remove("/queue/conclave/" + name);
    for (const auto& name : hand.children("/queue")) hand.remove("/queue/" + name);
    ASSERT_FALSE(hand.remove("/queue"));
  }
  // While the next transaction of a consumer is lost, and before it can be sent again.
  template <class Do>
  void before_it_is_sent_again(Do f) {
    link.swallow_request(opcode::multi);
    ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
    link.refuse_connections(true);
    w.advance(1s);
    f();
    link.refuse_connections(false);
  }

  world w{options()};
  simulated::client& link = w.client(0);
  simulated::hand& hand = w.by_hand();
};

TEST_F(queue_folder, that_was_removed_by_hand_has_other_items_than_were_read_ahead) {
  pusher from{link};
  const auto a = from.push("a"), b = from.push("b");
  ASSERT_TRUE(w.run_until([&] { return a->has_value() && b->has_value(); }));
  taker who{link};
  ASSERT_EQ(take(who), "a");
  remove_folder();
  push({"x", "y"});
  w.advance(10ms);  // for the event of the removal
  EXPECT_EQ(take(who), "x");
  EXPECT_EQ(take(who), "y");
}

// Nothing but the names and versions says that they are others.
TEST_F(queue_folder, items_of_the_same_names_are_not_taken_for_those_that_were_read_ahead) {
  pusher from{link};
  const auto a = from.push("a"), b = from.push("b");
  ASSERT_TRUE(w.run_until([&] { return a->has_value() && b->has_value(); }));
  taker who{link};
  ASSERT_EQ(take(who), "a");
  hand.remove("/queue/qn-0000000001");
  hand.create("/queue/qn-0000000001", "y");
  EXPECT_EQ(take(who), "y");
}

TEST_F(queue_folder, a_container_stays_as_long_as_a_consumer_has_read_from_it) {
  push({"a", "b"});
  {
    taker who{link};
    ASSERT_EQ(take(who), "a");
    hand.remove("/queue/qn-0000000001");
    w.advance(5s);
    ASSERT_TRUE(hand.exists("/queue"));
    push({"x", "y"});
    EXPECT_EQ(take(who), "x");
    EXPECT_EQ(take(who), "y");
  }
  w.advance(5s);
  EXPECT_FALSE(hand.exists("/queue")) << "what the consumer left behind holds it";
}

TEST_F(queue_folder, a_removal_that_is_sent_again_does_not_hit_an_item_of_the_same_name) {
  push({"a", "b"});
  taker who{link};
  ASSERT_EQ(take(who), "a");
  who.take();
  before_it_is_sent_again([&] {
    remove_folder();
    push({"x", "y"});
  });
  ASSERT_TRUE(w.run_until([&] { return who.told == 2; }));
  ASSERT_TRUE(who.got) << who.ec.message();
  EXPECT_EQ(who.got->item.data, "x");
  EXPECT_EQ(take(who), "y");
}

TEST_F(queue_folder, a_claim_that_is_sent_again_does_not_hit_an_item_of_the_same_name) {
  push({"a"});
  taker who{link, taker::claiming()};
  who.take();
  before_it_is_sent_again([&] {
    remove_folder();
    push({"x"});
  });
  ASSERT_TRUE(w.run_until([&] { return who.told == 1; }));
  ASSERT_TRUE(who.got) << who.ec.message();
  EXPECT_EQ(who.got->claim->item().data, "x");
  EXPECT_EQ(hand.get("/queue/qn-0000000000").data, "x");
}

TEST_F(queue_folder, completing_a_claim_does_not_remove_an_item_of_the_same_name) {
  push({"a"});
  taker who{link, taker::claiming()};
  ASSERT_EQ(take(who), "a");
  hand.remove("/queue/qn-0000000000");
  hand.create("/queue/qn-0000000000", "x");
  const auto answer = who.complete();
  ASSERT_TRUE(w.run_until([&] { return answer->has_value(); }));
  EXPECT_TRUE(hand.exists("/queue/qn-0000000000"));
  EXPECT_TRUE(hand.children("/queue.conclave/taken").empty());
}

TEST_F(queue_folder, what_is_read_ahead_is_not_kept_while_nobody_waits) {
  pusher from{link};
  for (const auto* item : {"a", "b", "c"}) {
    const auto told = from.push(item);
    ASSERT_TRUE(w.run_until([&] { return told->has_value(); }));
  }
  taker who{link};
  ASSERT_EQ(take(who), "a");
  w.advance(5s);
  const auto reads = link.traffic().of(opcode::get_data);
  ASSERT_EQ(take(who), "b");
  EXPECT_EQ(link.traffic().of(opcode::get_data), reads + 2) << "b, and c ahead of its call";
}

TEST_F(queue_folder, that_may_not_be_written_to_is_consumed_all_the_same) {
  acl readable{{permission::read | permission::remove, "world", "anyone"}};
  hand.create("/queue", {}, create_options{create_mode::persistent, open_acl()});
  push({"a", "b"});
  node_stat stat;
  ASSERT_FALSE(
      hand.ask(requests::set_acl({{}, open_acl()}, "/queue", readable, any_version), stat));
  taker who{link};
  EXPECT_EQ(take(who), "a");
  EXPECT_EQ(take(who), "b");
}

TEST_F(queue_folder, that_conclave_created_has_no_children_but_items) {
  pusher from{link};
  const auto told = from.push("a"), more = from.push("b");
  ASSERT_TRUE(w.run_until([&] { return told->has_value() && more->has_value(); }));
  taker who{link};
  ASSERT_EQ(take(who), "a");
  EXPECT_EQ(hand.children("/queue"), std::vector<std::string>{"qn-0000000001"});
}

}  // namespace
}  // namespace conclave::simulated
