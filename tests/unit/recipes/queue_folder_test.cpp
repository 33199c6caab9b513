// Folders of items that are removed and created again. The numbering of names and versions then
// restarts, and a new item must not be confused with an earlier one of the same name.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class queue_folder : public testing::Test {
 protected:
  queue_folder() { EXPECT_TRUE(w.wait_until_connected()); }
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
  std::string acquire(test_consumer& who) {
    const auto before = who.completions;
    who.acquire();
    if (!w.run_until([&] { return who.completions > before; }, 1min)) return "no result";
    if (!who.acquired) return who.ec.message();
    return who.acquired->claim ? who.acquired->claim->item().data : who.acquired->item.data;
  }
  // As an operator does it. New items then get the same names.
  void remove_folder() {
    for (const auto& name : hand.children("/queue/conclave"))
      hand.remove("/queue/conclave/" + name);
    for (const auto& name : hand.children("/queue")) hand.remove("/queue/" + name);
    ASSERT_FALSE(hand.remove("/queue"));
  }
  // Loses the next transaction of the consumer, and calls `f` before it can be sent again.
  template <class Do>
  void before_it_is_sent_again(Do f) {
    link.drop_request(opcode::multi);
    ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
    link.refuse_connections(true);
    w.advance(1s);
    f();
    link.refuse_connections(false);
  }

  world w{options()};
  simulated::client& link = w.client(0);
  simulated::direct_client& hand = w.by_hand();
};

TEST_F(queue_folder, data_read_ahead_is_dropped_when_the_folder_is_replaced) {
  test_producer from{link};
  const auto a = from.push("a"), b = from.push("b");
  ASSERT_TRUE(w.run_until([&] { return a->has_value() && b->has_value(); }));
  test_consumer who{link};
  ASSERT_EQ(acquire(who), "a");
  remove_folder();
  push({"x", "y"});
  w.advance(10ms);  // until the watch fires
  EXPECT_EQ(acquire(who), "x");
  EXPECT_EQ(acquire(who), "y");
}

// The new item has the same name and version.
TEST_F(queue_folder, data_read_ahead_is_not_used_for_a_new_item_of_the_same_name) {
  test_producer from{link};
  const auto a = from.push("a"), b = from.push("b");
  ASSERT_TRUE(w.run_until([&] { return a->has_value() && b->has_value(); }));
  test_consumer who{link};
  ASSERT_EQ(acquire(who), "a");
  hand.remove("/queue/qn-0000000001");
  hand.create("/queue/qn-0000000001", "y");
  EXPECT_EQ(acquire(who), "y");
}

TEST_F(queue_folder, a_container_exists_while_a_consumer_uses_it) {
  push({"a", "b"});
  {
    test_consumer who{link};
    ASSERT_EQ(acquire(who), "a");
    hand.remove("/queue/qn-0000000001");
    w.advance(5s);
    ASSERT_TRUE(hand.exists("/queue"));
    push({"x", "y"});
    EXPECT_EQ(acquire(who), "x");
    EXPECT_EQ(acquire(who), "y");
  }
  w.advance(5s);
  EXPECT_FALSE(hand.exists("/queue")) << "the consumer has left a node behind";
}

TEST_F(queue_folder, a_repeated_pop_does_not_remove_a_new_item_of_the_same_name) {
  push({"a", "b"});
  test_consumer who{link};
  ASSERT_EQ(acquire(who), "a");
  who.acquire();
  before_it_is_sent_again([&] {
    remove_folder();
    push({"x", "y"});
  });
  ASSERT_TRUE(w.run_until([&] { return who.completions == 2; }));
  ASSERT_TRUE(who.acquired) << who.ec.message();
  EXPECT_EQ(who.acquired->item.data, "x");
  EXPECT_EQ(acquire(who), "y");
}

TEST_F(queue_folder, a_repeated_claim_does_not_claim_a_new_item_of_the_same_name) {
  push({"a"});
  test_consumer who{link, test_consumer::claiming()};
  who.acquire();
  before_it_is_sent_again([&] {
    remove_folder();
    push({"x"});
  });
  ASSERT_TRUE(w.run_until([&] { return who.completions == 1; }));
  ASSERT_TRUE(who.acquired) << who.ec.message();
  EXPECT_EQ(who.acquired->claim->item().data, "x");
  EXPECT_EQ(hand.get("/queue/qn-0000000000").data, "x");
}

TEST_F(queue_folder, completing_a_claim_does_not_remove_a_new_item_of_the_same_name) {
  push({"a"});
  test_consumer who{link, test_consumer::claiming()};
  ASSERT_EQ(acquire(who), "a");
  hand.remove("/queue/qn-0000000000");
  hand.create("/queue/qn-0000000000", "x");
  const auto result = who.complete();
  ASSERT_TRUE(w.run_until([&] { return result->has_value(); }));
  EXPECT_TRUE(hand.exists("/queue/qn-0000000000"));
  EXPECT_TRUE(hand.children("/queue.conclave/taken").empty());
}

TEST_F(queue_folder, data_read_ahead_is_dropped_while_no_caller_waits) {
  test_producer from{link};
  for (const auto* item : {"a", "b", "c"}) {
    const auto pushed = from.push(item);
    ASSERT_TRUE(w.run_until([&] { return pushed->has_value(); }));
  }
  test_consumer who{link};
  ASSERT_EQ(acquire(who), "a");
  w.advance(5s);
  const auto reads = link.traffic().of(opcode::get_data);
  ASSERT_EQ(acquire(who), "b");
  EXPECT_EQ(link.traffic().of(opcode::get_data), reads + 2) << "b, and c ahead of its call";
}

TEST_F(queue_folder, a_consumer_needs_no_permission_to_create_nodes_in_it) {
  acl readable{{permission::read | permission::remove, "world", "anyone"}};
  hand.create("/queue", {}, create_options{create_mode::persistent, open_acl()});
  push({"a", "b"});
  node_stat stat;
  ASSERT_FALSE(
      hand.ask(requests::set_acl({{}, open_acl()}, "/queue", readable, any_version), stat));
  test_consumer who{link};
  EXPECT_EQ(acquire(who), "a");
  EXPECT_EQ(acquire(who), "b");
}

TEST_F(queue_folder, a_folder_that_conclave_created_contains_only_items) {
  test_producer from{link};
  const auto a = from.push("a"), b = from.push("b");
  ASSERT_TRUE(w.run_until([&] { return a->has_value() && b->has_value(); }));
  test_consumer who{link};
  ASSERT_EQ(acquire(who), "a");
  EXPECT_EQ(hand.children("/queue"), std::vector<std::string>{"qn-0000000001"});
}

}  // namespace
}  // namespace conclave::simulated
