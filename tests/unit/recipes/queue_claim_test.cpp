// Claims: the result of completing them, and manual changes to their nodes.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class queue_claims : public testing::Test {
 protected:
  queue_claims() {
    EXPECT_TRUE(w.wait_until_connected());
    hand.create("/queue");
  }
  static world_options options() {
    world_options o;
    o.clients = 2;
    return o;
  }
  void push(const std::string& data) {
    item = "/queue/qn-000000000" + std::to_string(hand.children("/queue").size());
    ASSERT_FALSE(hand.create(item, data));
  }
  void remove_claim_node() { hand.remove("/queue.conclave/taken" + item.substr(6)); }
  bool claim(test_consumer& who) {
    const auto before = who.completions;
    who.acquire();
    return w.run_until([&] { return who.completions > before; }) && who.acquired;
  }
  error_code complete(test_consumer& who) {
    const auto result = who.complete();
    EXPECT_TRUE(w.run_until([&] { return result->has_value(); }));
    return result->value_or(errc::protocol_error);
  }

  world w{options()};
  simulated::direct_client& hand = w.by_hand();
  std::string item;  // the path of the item that was pushed last
};

TEST_F(queue_claims, completing_fails_if_the_item_cannot_be_removed) {
  push("item");
  hand.create(item + "/note");
  test_consumer who{w.client(0), test_consumer::claiming()};
  ASSERT_TRUE(claim(who));
  EXPECT_EQ(complete(who), errc::not_empty);
  EXPECT_TRUE(hand.exists(item));
  EXPECT_TRUE(hand.children("/queue.conclave/taken").empty()) << "the item is not available";
}

// The server closes the connection of a client that sends a request that is too large.
TEST_F(queue_claims, an_item_that_seemed_too_large_is_tried_again) {
  push(std::string(20'000, 'x'));
  test_consumer who{w.client(0), test_consumer::claiming()};
  who.acquire();
  for (int i = 0; i < 5; ++i) {
    w.client(0).drop_request(opcode::multi);
    ASSERT_TRUE(w.run_until([&] { return !w.client(0).fault_pending(); }));
  }
  w.advance(30s);
  EXPECT_EQ(who.completions, 0);
  ASSERT_TRUE(w.run_until([&] { return who.completions > 0; }, 2min));
  EXPECT_TRUE(who.acquired) << who.ec.message();
}

TEST_F(queue_claims, completing_an_item_that_was_removed_by_hand_succeeds) {
  push("item");
  test_consumer who{w.client(0), test_consumer::claiming()};
  ASSERT_TRUE(claim(who));
  hand.remove(item);
  EXPECT_EQ(complete(who), error_code{});
  EXPECT_TRUE(hand.children("/queue.conclave/taken").empty());
}

TEST_F(queue_claims, completing_an_item_that_was_written_by_hand_succeeds) {
  push("item");
  test_consumer who{w.client(0), test_consumer::claiming()};
  ASSERT_TRUE(claim(who));
  hand.set(item, "other data");
  EXPECT_EQ(complete(who), error_code{});
  EXPECT_FALSE(hand.exists(item));
}

// A short hold does not watch its node yet: see hold_monitor.cpp.
TEST_F(queue_claims, a_claim_with_a_deleted_node_does_not_complete_the_next_claim) {
  push("item");
  test_consumer a{w.client(0), test_consumer::claiming()},
      b{w.client(1), test_consumer::claiming()};
  ASSERT_TRUE(claim(a));
  remove_claim_node();
  ASSERT_TRUE(claim(b));
  EXPECT_EQ(complete(a), errc::lock_lost);
  EXPECT_TRUE(hand.exists(item));
  EXPECT_EQ(complete(b), error_code{});
  EXPECT_FALSE(hand.exists(item));
}

TEST_F(queue_claims, a_claim_with_a_deleted_node_does_not_release_the_next_claim) {
  push("item");
  test_consumer a{w.client(0), test_consumer::claiming()},
      b{w.client(1), test_consumer::claiming()};
  ASSERT_TRUE(claim(a));
  remove_claim_node();
  ASSERT_TRUE(claim(b));
  a.release();
  w.advance(1s);
  EXPECT_EQ(complete(b), error_code{});
}

TEST_F(queue_claims, a_claim_with_a_deleted_node_is_lost) {
  push("item");
  test_consumer who{w.client(0), test_consumer::claiming()};
  ASSERT_TRUE(claim(who));
  remove_claim_node();
  EXPECT_EQ(complete(who), errc::lock_lost);
  EXPECT_TRUE(hand.exists(item));
}

TEST_F(queue_claims, a_claim_whose_node_was_deleted_while_disconnected_is_lost) {
  push("item");
  test_consumer who{w.client(0), test_consumer::claiming()};
  ASSERT_TRUE(claim(who));
  auto& link = w.client(0);
  link.refuse_connections(true);
  link.disconnect();
  remove_claim_node();
  const auto result = who.complete();
  w.advance(1s);
  link.refuse_connections(false);
  ASSERT_TRUE(w.run_until([&] { return result->has_value(); }));
  EXPECT_EQ(**result, errc::lock_lost);
  EXPECT_TRUE(hand.exists(item));
}

// --- setting aside

TEST_F(queue_claims, callers_that_give_up_while_an_item_is_set_aside_complete) {
  for (int i = 0; i < 3; ++i) push("item");
  hand.set("/queue/qn-0000000000", "poison");  // counts as an attempt
  test_consumer who{w.client(0), test_consumer::claiming(1)};
  std::vector<recipes::consumer::caller_ptr> callers;
  for (int i = 0; i < 3; ++i) callers.push_back(who.acquire());
  ASSERT_TRUE(w.run_until([&] { return w.client(0).traffic().of(opcode::multi) > 0; }));
  for (const auto i : {1u, 2u}) who.give_up(callers[i]);
  w.advance(10s);
  EXPECT_EQ(who.completions, 3);
}

TEST_F(queue_claims, a_call_that_gives_up_while_an_item_is_set_aside_waits_for_the_outcome) {
  push("poison");
  hand.set(item, "poison");  // counts as an attempt
  test_consumer who{w.client(0), test_consumer::claiming(1)};
  const auto caller = who.acquire();
  ASSERT_TRUE(w.run_until([&] { return hand.exists("/queue.conclave/aside"); }));
  ASSERT_TRUE(hand.exists(item));
  who.give_up(caller);
  EXPECT_EQ(who.completions, 0);
  ASSERT_TRUE(w.run_until([&] { return who.completions == 1; }));
  EXPECT_EQ(who.ec, cancelled());
  EXPECT_EQ(hand.children("/queue.conclave/aside").size(), 1u);
}

// The numbering of item names restarts after a path was removed and created again.
TEST_F(queue_claims, two_items_of_the_same_name_can_be_set_aside) {
  test_consumer who{w.client(0), test_consumer::claiming(1)};
  for (int life = 1; life <= 2; ++life) {
    push("poison");
    hand.set(item, "poison");
    who.acquire(false);
    w.advance(10s);
    EXPECT_EQ(who.completions, life) << to_string(w.client(0).traffic());
    EXPECT_FALSE(hand.exists(item));
    EXPECT_EQ(hand.children("/queue.conclave/aside").size(), static_cast<std::size_t>(life));
    hand.remove("/queue");
    hand.create("/queue");
  }
}

TEST_F(queue_claims, claiming_fails_without_permission_to_set_aside) {
  push("poison");
  hand.set(item, "poison");
  hand.create("/queue.conclave");
  hand.create("/queue.conclave/aside", {}, {create_mode::persistent, read_only_acl()});
  test_consumer who{w.client(0), test_consumer::claiming(1)};
  who.acquire(false);
  w.advance(10s);
  ASSERT_EQ(who.completions, 1) << to_string(w.client(0).traffic());
  EXPECT_EQ(who.ec, errc::no_auth);
}

// Other libraries push items that leave no room for the data of a claim.
TEST_F(queue_claims, an_item_that_is_too_large_to_be_claimed_is_skipped) {
  push(std::string((std::size_t{1} << 20) - 100, 'x'));
  test_consumer who{w.client(0), test_consumer::claiming()};
  who.acquire();
  w.advance(10s);
  EXPECT_EQ(who.completions, 0) << who.ec.message();
  EXPECT_LT(w.client(0).traffic().all(), 50) << to_string(w.client(0).traffic());
  const auto large = item;
  push("small");
  w.advance(1s);
  ASSERT_TRUE(who.acquired);
  EXPECT_EQ(who.acquired->claim->item().data, "small");
  EXPECT_TRUE(hand.exists(large));
}

// The server closes the connection instead of answering.
TEST_F(queue_claims, an_item_that_is_larger_than_the_server_accepts_is_skipped) {
  push(std::string(20'000, 'x'));
  const auto large = item;
  test_consumer who{w.client(0), test_consumer::claiming()};
  who.acquire();
  for (int lost = 0; lost < 5; ++lost) {
    w.client(0).drop_request(wire::opcode::multi);
    ASSERT_TRUE(w.run_until([&] { return !w.client(0).fault_pending(); }));
  }
  w.advance(10s);
  EXPECT_EQ(who.completions, 0) << who.ec.message();
  push("small");
  w.advance(1s);
  ASSERT_TRUE(who.acquired);
  EXPECT_EQ(who.acquired->claim->item().data, "small");
  EXPECT_TRUE(hand.exists(large));
}

TEST_F(queue_claims, an_item_that_is_too_large_to_be_set_aside_is_skipped) {
  push(std::string((std::size_t{1} << 20) - 280, 'x'));
  const auto large = item;
  push("small");
  test_consumer who{w.client(0), test_consumer::claiming(1)};
  ASSERT_TRUE(claim(who));
  who.release();
  ASSERT_TRUE(claim(who));
  EXPECT_EQ(who.acquired->claim->item().data, "small");
  who.acquire(false);
  w.advance(10s);
  EXPECT_EQ(who.completions, 3);
  EXPECT_FALSE(who.ec) << who.ec.message();
  EXPECT_FALSE(who.acquired);
  EXPECT_TRUE(hand.exists(large));
}

}  // namespace
}  // namespace conclave::simulated
