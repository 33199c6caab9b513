// Conclave and kazoo's LockingQueue respect each other's claims.
#include <string>

#include "fixture.hpp"

namespace conclave::testing {
namespace {

constexpr auto short_session = 2s;  // because it must expire

class shared_claims : public queue_interop_test {
 protected:
  user_process start(side s, const std::string& roles,
                     std::chrono::milliseconds session_timeout = 20s) const {
    return queue_interop_test::start(s, recipe::kazoo_locking, roles, 0, session_timeout);
  }

  queue q = open(recipe::kazoo_locking);
};

TEST_F(shared_claims, of_a_killed_peer_are_released_to_conclave) {
  q.push(items_named("a", 2));
  auto holder = start(side::theirs, "hold", short_session);
  holder.open_gate();
  ASSERT_EQ(holder.next("claimed"), "a-0");

  auto second = q.try_claim();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->data(), "a-1");
  EXPECT_FALSE(q.try_claim());

  holder.kill();
  auto first = q.claim_for(wait_limit);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->data(), "a-0");
  EXPECT_GE(first->attempts(), 1);
  first->complete();
  second->complete();
  expect_empty(recipe::kazoo_locking);
}

TEST_F(shared_claims, of_a_killed_conclave_process_are_released_to_the_peer) {
  q.push(items_named("a", 2));
  auto holder = start(side::ours, "hold", short_session);
  holder.open_gate();
  ASSERT_EQ(holder.next("claimed"), "a-0");

  auto consumer = start(side::theirs, "consume");
  consumer.open_gate();
  EXPECT_EQ(consumer.next("popped"), "a-1");
  EXPECT_EQ(consumer.reported().claimed, item_list{"a-1"});

  holder.kill();
  EXPECT_EQ(consumer.next("popped"), "a-0");
  put_ends(recipe::kazoo_locking, 1);
  consumer.finish();
  expect_empty(recipe::kazoo_locking);
}

TEST_F(shared_claims, released_by_conclave_are_acquired_by_the_peer) {
  q.push(items_named("a", 2));
  auto job = q.claim();
  EXPECT_EQ(job.data(), "a-0");
  auto consumer = start(side::theirs, "consume");
  consumer.open_gate();
  EXPECT_EQ(consumer.next("popped"), "a-1");
  job.release();
  EXPECT_EQ(consumer.next("popped"), "a-0");
  put_ends(recipe::kazoo_locking, 1);
  consumer.finish();
  expect_empty(recipe::kazoo_locking);
}

TEST_F(shared_claims, released_by_the_peer_are_acquired_by_conclave) {
  q.push("a-0");
  auto theirs = start(side::theirs, "give-back");
  theirs.open_gate();
  EXPECT_EQ(theirs.finish().released, item_list{"a-0"});
  auto job = q.try_claim();
  ASSERT_TRUE(job);
  EXPECT_EQ(job->data(), "a-0");
  job->complete();
  expect_empty(recipe::kazoo_locking);
}

// A released item stays ahead of later items.
TEST_F(shared_claims, released_keep_their_position) {
  q.push(items_named("a", 3));
  auto ours = start(side::ours, "give-back");
  ours.open_gate();
  ours.finish();
  auto consumer = start(side::theirs, "consume");
  put_ends(recipe::kazoo_locking, 1);
  consumer.open_gate();
  EXPECT_EQ(consumer.finish().popped, items_named("a", 3));
  expect_empty(recipe::kazoo_locking);
}

}  // namespace
}  // namespace conclave::testing
