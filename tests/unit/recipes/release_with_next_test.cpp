// A release in the transaction that creates the next node of the same lock object. The users lock
// again right after they unlock, with faults at every place.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lock_test_world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

// Locks, holds the lock for 5 ms, unlocks and locks again, for a number of rounds.
class repeated_locker {
 public:
  repeated_locker(lock_test_world& c, std::size_t client, const std::string& path, int rounds)
      : world_{c}, locker_{c.add(client, a_mutex({path}))}, left_{rounds} {}

  void lock() {
    call_ = locker_->lock(role::exclusive, [this] { completed(); });
  }
  bool done() const { return left_ == 0; }
  int failures() const { return failures_; }

 private:
  void completed() {
    world_.world.after(5ms, [this] {
      if (call_->granted()) {
        call_->unlocked = true;
        const recipes::session_context::scope inside{locker_->client()};
        locker_->object().release(role::exclusive);
      } else {
        ++failures_;
      }
      if (--left_ > 0) lock();
    });
  }

  lock_test_world& world_;
  locker_pointer locker_;
  call_pointer call_;
  int left_;
  int failures_ = 0;
};

class release_with_next {
 public:
  explicit release_with_next(std::size_t users, int rounds, world_options o = {})
      : c{(o.clients = users, o.connect_wait = 10min, o.session_timeout = 60s, o)} {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(path);
    for (std::size_t i = 0; i < users; ++i)
      all.push_back(std::make_unique<repeated_locker>(c, i, path, rounds));
  }
  bool run() {
    for (auto& u : all) u->lock();
    return c.run_until([&] {
      return std::all_of(all.begin(), all.end(), [](const auto& u) { return u->done(); });
    });
  }
  const std::string path = "/locks/one";
  lock_test_world c;
  std::vector<std::unique_ptr<repeated_locker>> all;
};

TEST(with_next, one_client_alone_sends_one_request_per_cycle) {
  release_with_next r{1, 50};
  ASSERT_TRUE(r.run());
  const auto& sent = r.c.world.client(0).traffic();
  // The first two cycles use separate requests.
  EXPECT_GE(sent.of(opcode::multi), 48);
  EXPECT_LE(sent.of(opcode::create2), 2);
  EXPECT_LE(sent.of(opcode::get_data), 4);
  r.c.check_end();
}

TEST(with_next, other_clients_are_granted_in_order) {
  release_with_next r{3, 20};
  ASSERT_TRUE(r.run());
  EXPECT_EQ(r.c.judge->grants, 60);
  for (const auto& u : r.all) EXPECT_EQ(u->failures(), 0);
  r.c.check_end();
}

// The path is deleted and created again while the transaction is on its way. The transaction finds
// a node with the name that it deletes, and the number of the new node follows that of the old one.
TEST(with_next, a_ticket_of_a_deleted_wait_queue_grants_nothing) {
  const std::string path = "/locks/one";
  lock_test_world c{{.clients = 1}};
  auto& operators = c.world.by_hand();
  operators.create("/locks");
  operators.create(path);
  const auto l = c.add(0, a_mutex({path}));
  const auto first = l->lock();
  ASSERT_TRUE(c.granted(first));
  l->unlock(first);
  c.finish_pending_work();
  const auto a = l->lock();
  ASSERT_TRUE(c.granted(a));
  const auto b = l->lock();  // waits locally
  const auto node = a->hold->nodes()[0];
  auto& link = c.world.client(0);
  link.stall(true);
  l->unlock(a);
  operators.remove(node);
  operators.remove(path);
  operators.create(path);
  std::string last;
  std::vector<std::string> ahead;
  while (last != node) ahead.push_back(last = operators.create_sequential(path + "/lock-"));
  ASSERT_GT(ahead.size(), 1u);
  link.stall(false);
  c.finish_pending_work();
  EXPECT_FALSE(b->granted());
  ahead.pop_back();  // deleted by the transaction
  for (const auto& each : ahead) operators.remove(each);
  ASSERT_TRUE(c.granted(b));
  l->unlock(b);
  c.check_end();
}

TEST(with_next, a_connection_loss_after_any_frame_fails_no_call) {
  for (const auto way : {direction::up, direction::down})
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(std::to_string(n) + (way == direction::up ? " up" : " down"));
      release_with_next r{2, 6};
      auto& link = r.c.world.client(0);
      link.disconnect_after_frames(way, n);
      ASSERT_TRUE(r.run());
      for (const auto& u : r.all) ASSERT_EQ(u->failures(), 0);
      const bool none_left = link.fault_pending();
      link.forget_fault();
      r.c.check_end();
      if (::testing::Test::HasFailure() || none_left) break;
    }
}

TEST(with_next, a_lost_request_or_reply_is_resolved) {
  for (const bool reply : {false, true})
    for (int skipped = 0; skipped < 4; ++skipped) {
      release_with_next r{2, 8};
      auto& link = r.c.world.client(0);
      // At different times, so that the fault hits different transactions.
      r.c.world.after(std::chrono::milliseconds{40 + 17 * skipped}, [&] {
        reply ? link.drop_reply(opcode::multi) : link.drop_request(opcode::multi);
      });
      ASSERT_TRUE(r.run());
      for (const auto& u : r.all) ASSERT_EQ(u->failures(), 0);
      EXPECT_FALSE(link.fault_pending());
      r.c.check_end();
      if (::testing::Test::HasFailure()) return;
    }
}

TEST(with_next, a_server_side_timeout_is_resolved) {
  for (int skipped = 0; skipped < 4; ++skipped) {
    release_with_next r{2, 8};
    auto& link = r.c.world.client(0);
    r.c.world.after(std::chrono::milliseconds{40 + 17 * skipped},
                    [&] { link.replace_reply(opcode::multi, errc::operation_timeout); });
    ASSERT_TRUE(r.run());
    for (const auto& u : r.all) ASSERT_EQ(u->failures(), 0);
    EXPECT_FALSE(link.fault_pending());
    r.c.check_end();
    if (::testing::Test::HasFailure()) return;
  }
}

// The creation must not wait for a second connect_wait after the release has failed.
TEST(with_next, without_a_connection_it_fails_after_connect_wait) {
  world_options o;
  o.connect_wait = 2s;
  lock_test_world c{o};
  const auto l = c.add(0, a_mutex({"/locks/one"}));
  const auto a = l->lock();
  ASSERT_TRUE(c.granted(a));
  c.world.advance(50ms);
  const auto b = l->lock();
  auto& link = c.world.client(0);
  link.refuse_connections(true);
  link.disconnect();
  const auto since = c.world.now();
  l->unlock(a);
  ASSERT_TRUE(c.completed(b));
  EXPECT_EQ(b->ec, errc::not_connected);
  EXPECT_LT(c.world.now() - since, 3s);
  link.refuse_connections(false);
  c.check_end();
}

TEST(with_next, an_expiry_at_any_time_leaves_no_node) {
  for (int after = 0; after < 60; after += 3) {
    SCOPED_TRACE(after);
    release_with_next r{2, 6};
    auto& link = r.c.world.client(0);
    r.c.world.after(std::chrono::milliseconds{after}, [&] {
      link.refuse_connections(true);
      link.disconnect();
      r.c.world.after(90s, [&] { link.refuse_connections(false); });
    });
    ASSERT_TRUE(r.run());
    r.c.check_end();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(with_next, a_node_deleted_at_any_time_harms_no_other_client) {
  for (int after = 1; after < 60; after += 3) {
    SCOPED_TRACE(after);
    release_with_next r{2, 6};
    r.c.judge->set_violation_callback({});  // a holder may notice the deletion after the next grant
    r.c.world.after(std::chrono::milliseconds{after}, [&] {
      const auto nodes = r.c.children(r.path);
      if (!nodes.empty()) r.c.world.by_hand().remove(r.path + "/" + nodes.front());
    });
    ASSERT_TRUE(r.run());
    r.c.check_end();
    if (::testing::Test::HasFailure()) return;
  }
}

// The path is deleted by hand and created again before the transaction arrives. The transaction
// then deletes another contender's node. A ticket that was served in the old wait queue must not
// grant the lock in the new one.
TEST(with_next, a_release_that_arrives_in_a_new_wait_queue_grants_nothing) {
  world_options o;
  o.clients = 3;
  lock_test_world c{o};
  const std::string path = "/locks/one";
  const auto ours = c.add(0, a_mutex({path}));
  const auto earlier = ours->lock();  // sequence number 0
  ASSERT_TRUE(c.granted(earlier));
  ours->unlock(earlier);
  c.finish_pending_work();
  const auto first = ours->lock();
  ASSERT_TRUE(c.granted(first));
  const auto second = ours->lock();
  auto& link = c.world.client(0);
  link.stall(true);
  ours->unlock(first);
  c.world.advance(10ms);
  ASSERT_EQ(c.children(path), std::vector<std::string>{"lock-0000000001"});
  c.world.by_hand().remove(path + "/lock-0000000001");
  c.world.by_hand().remove(path);
  const auto holder = c.add(1, a_mutex({path}));
  const auto held = holder->lock();
  ASSERT_TRUE(c.granted(held));
  const auto waits = c.add(2, a_mutex({path}))->lock();
  c.world.advance(10ms);
  ASSERT_EQ(c.children(path).back(), "lock-0000000001");
  link.stall(false);
  c.world.advance(1s);
  EXPECT_EQ(second->completions, 0);
  EXPECT_TRUE(held->holding());
  holder->unlock(held);
  ASSERT_TRUE(c.granted(second));
  ours->unlock(second);
  EXPECT_TRUE(c.completed(waits));
  EXPECT_EQ(waits->ec, errc::waiter_node_deleted);
  c.check_end();
}

}  // namespace
}  // namespace conclave::simulated
