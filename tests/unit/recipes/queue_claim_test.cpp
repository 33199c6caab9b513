// Claims of items: what completing them tells, and what hands in the tree can do to them.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class queue_claims : public testing::Test {
 protected:
  queue_claims() {
    EXPECT_TRUE(w.attach_all());
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
  void remove_mark() { hand.remove("/queue.conclave/taken" + item.substr(6)); }
  bool claim(taker& who) {
    const auto before = who.told;
    who.take();
    return w.run_until([&] { return who.told > before; }) && who.got;
  }
  // What the claim's end is told to have been.
  error_code completed(taker& who) {
    const auto answer = who.complete();
    EXPECT_TRUE(w.run_until([&] { return answer->has_value(); }));
    return answer->value_or(errc::protocol_error);
  }

  world w{options()};
  simulated::hand& hand = w.by_hand();
  std::string item;  // pushed last
};

TEST_F(queue_claims, completing_what_cannot_be_removed_says_so) {
  push("item");
  hand.create(item + "/note");
  taker who{w.client(0), taker::claiming()};
  ASSERT_TRUE(claim(who));
  EXPECT_EQ(completed(who), errc::not_empty);
  EXPECT_TRUE(hand.exists(item));
  EXPECT_TRUE(hand.children("/queue.conclave/taken").empty()) << "it is there for others";
}

TEST_F(queue_claims, completing_what_somebody_else_removed_is_done) {
  push("item");
  taker who{w.client(0), taker::claiming()};
  ASSERT_TRUE(claim(who));
  hand.remove(item);
  EXPECT_EQ(completed(who), error_code{});
  EXPECT_TRUE(hand.children("/queue.conclave/taken").empty());
}

TEST_F(queue_claims, completing_what_somebody_wrote_into_is_done) {
  push("item");
  taker who{w.client(0), taker::claiming()};
  ASSERT_TRUE(claim(who));
  hand.set(item, "other data");
  EXPECT_EQ(completed(who), error_code{});
  EXPECT_FALSE(hand.exists(item));
}

// Before it is watched: see short_hold in holding.cpp.
TEST_F(queue_claims, one_whose_mark_was_deleted_by_hand_does_not_complete_anothers) {
  push("item");
  taker a{w.client(0), taker::claiming()}, b{w.client(1), taker::claiming()};
  ASSERT_TRUE(claim(a));
  remove_mark();
  ASSERT_TRUE(claim(b));
  EXPECT_EQ(completed(a), errc::lock_lost);
  EXPECT_TRUE(hand.exists(item));
  EXPECT_EQ(completed(b), error_code{});
  EXPECT_FALSE(hand.exists(item));
}

TEST_F(queue_claims, one_whose_mark_was_deleted_by_hand_does_not_give_anothers_back) {
  push("item");
  taker a{w.client(0), taker::claiming()}, b{w.client(1), taker::claiming()};
  ASSERT_TRUE(claim(a));
  remove_mark();
  ASSERT_TRUE(claim(b));
  a.give_back();
  w.advance(1s);
  EXPECT_EQ(completed(b), error_code{});
}

TEST_F(queue_claims, one_whose_mark_was_deleted_by_hand_is_lost) {
  push("item");
  taker who{w.client(0), taker::claiming()};
  ASSERT_TRUE(claim(who));
  remove_mark();
  EXPECT_EQ(completed(who), errc::lock_lost);
  EXPECT_TRUE(hand.exists(item));
}

TEST_F(queue_claims, one_whose_mark_was_deleted_before_its_end_could_be_sent_is_lost) {
  push("item");
  taker who{w.client(0), taker::claiming()};
  ASSERT_TRUE(claim(who));
  auto& link = w.client(0);
  link.refuse_connections(true);
  link.cut();
  remove_mark();
  const auto answer = who.complete();
  w.advance(1s);
  link.refuse_connections(false);
  ASSERT_TRUE(w.run_until([&] { return answer->has_value(); }));
  EXPECT_EQ(**answer, errc::lock_lost);
  EXPECT_TRUE(hand.exists(item));
}

// --- setting aside

TEST_F(queue_claims, those_who_give_up_while_an_item_is_set_aside_are_told) {
  for (int i = 0; i < 3; ++i) push("item");
  hand.set("/queue/qn-0000000000", "poison");  // that is an attempt
  taker who{w.client(0), taker::claiming(1)};
  std::vector<recipes::consumer::caller_ptr> callers;
  for (int i = 0; i < 3; ++i) callers.push_back(who.take());
  ASSERT_TRUE(w.run_until([&] { return w.client(0).traffic().of(opcode::multi) > 0; }));
  for (const auto i : {1u, 2u}) who.give_up(callers[i]);
  w.advance(10s);
  EXPECT_EQ(who.told, 3);
}

// Names start again where an empty path was removed and made again.
TEST_F(queue_claims, an_item_is_set_aside_beside_a_former_one_of_its_name) {
  taker who{w.client(0), taker::claiming(1)};
  for (int life = 1; life <= 2; ++life) {
    push("poison");
    hand.set(item, "poison");
    who.take(false);
    w.advance(10s);
    EXPECT_EQ(who.told, life) << to_string(w.client(0).traffic());
    EXPECT_FALSE(hand.exists(item));
    EXPECT_EQ(hand.children("/queue.conclave/aside").size(), static_cast<std::size_t>(life));
    hand.remove("/queue");
    hand.create("/queue");
  }
}

TEST_F(queue_claims, what_may_not_be_set_aside_is_told) {
  push("poison");
  hand.set(item, "poison");
  hand.create("/queue.conclave");
  hand.create("/queue.conclave/aside", {}, {create_mode::persistent, read_only_acl()});
  taker who{w.client(0), taker::claiming(1)};
  who.take(false);
  w.advance(10s);
  ASSERT_EQ(who.told, 1) << to_string(w.client(0).traffic());
  EXPECT_EQ(who.ec, errc::no_auth);
}

// Pushed by others, who leave no room for the claim's own transaction.
TEST_F(queue_claims, an_item_that_is_too_large_to_be_claimed_is_left_alone) {
  push(std::string((std::size_t{1} << 20) - 100, 'x'));
  taker who{w.client(0), taker::claiming()};
  who.take();
  w.advance(10s);
  EXPECT_EQ(who.told, 0) << who.ec.message();
  EXPECT_LT(w.client(0).traffic().all(), 50) << to_string(w.client(0).traffic());
  const auto large = item;
  push("small");
  w.advance(1s);
  ASSERT_TRUE(who.got);
  EXPECT_EQ(who.got->claim->item().data, "small");
  EXPECT_TRUE(hand.exists(large));
}

TEST_F(queue_claims, an_item_that_is_too_large_to_be_set_aside_is_left_alone) {
  push(std::string((std::size_t{1} << 20) - 280, 'x'));
  const auto large = item;
  push("small");
  taker who{w.client(0), taker::claiming(1)};
  ASSERT_TRUE(claim(who));
  who.give_back();
  ASSERT_TRUE(claim(who));
  EXPECT_EQ(who.got->claim->item().data, "small");
  who.take(false);
  w.advance(10s);
  EXPECT_EQ(who.told, 3);
  EXPECT_FALSE(who.ec) << who.ec.message();
  EXPECT_FALSE(who.got);
  EXPECT_TRUE(hand.exists(large));
}

}  // namespace
}  // namespace conclave::simulated
