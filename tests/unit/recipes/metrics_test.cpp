// The counts of conclave::metrics are exact, also after faults. Times are those of the virtual
// clock.
#include <gtest/gtest.h>

#include "lock_test_world.hpp"
#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

double seconds(std::chrono::nanoseconds d) { return std::chrono::duration<double>{d}.count(); }

world_options counted_clients() {
  world_options o;
  o.clients = 2;
  o.session_timeout = 10s;
  o.connect_wait = 10min;
  o.metrics = std::make_shared<metrics>();
  return o;
}

class lock_metrics : public testing::Test {
 protected:
  const world_options options{counted_clients()};
  lock_test_world c{options};
  const std::string path = "/locks/one";
  const lock_kind kind = a_mutex({path});

  void SetUp() override {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(path);
    ASSERT_TRUE(c.world.wait_until_connected());
  }
  metrics_snapshot snapshot() const { return options.metrics->snapshot(); }
  metrics_snapshot::lock_counts locks(conclave::lock_kind k = conclave::lock_kind::lock) const {
    return snapshot().of(k);
  }
  call_pointer locked(const locker_pointer& l) {
    const auto a = l->lock();
    EXPECT_TRUE(c.granted(a));
    return a;
  }
  // The time is longer than the session timeout.
  static lock_options keeping() {
    lock_options o;
    o.keep_for = 60s;
    return o;
  }
  // Returns a lock object that keeps the lock, after one acquisition.
  locker_pointer kept() {
    const auto l = c.add(0, kind, keeping());
    const auto a = locked(l);
    c.world.advance(50ms);
    l->unlock(a);
    c.world.advance(300ms);
    return l;
  }
  client& first() { return c.world.client(0); }
  // The client has no connection until its session has expired.
  void expire() {
    first().refuse_connections(true);
    first().disconnect();
    c.world.advance(30s);
    first().refuse_connections(false);
  }
};

TEST_F(lock_metrics, time_the_wait_and_the_hold) {
  const auto l = c.add(0, kind), other = c.add(1, kind);
  const auto a = locked(l);
  const auto free_lock = locks();
  EXPECT_EQ(free_lock.acquired, 1u);
  EXPECT_EQ(free_lock.holding, 1u);
  EXPECT_EQ(free_lock.hold.total(), 0u);
  const auto called = c.world.now();
  const auto b = other->lock();
  c.world.advance(3s);
  EXPECT_EQ(locks().waiting, 1u);
  const auto held_since = a->completed_at;
  const auto unlocked = c.world.now();
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  const auto s = locks();
  EXPECT_EQ(s.acquired, 2u);
  EXPECT_EQ(s.waiting, 0u);
  EXPECT_EQ(s.holding, 1u);
  EXPECT_EQ(s.wait.total(), 2u);
  EXPECT_NEAR(s.wait.sum - free_lock.wait.sum, seconds(b->completed_at - called), 1e-8);
  EXPECT_EQ(s.hold.total(), 1u);
  EXPECT_NEAR(s.hold.sum, seconds(unlocked - held_since), 1e-8);
  other->unlock(b);
  EXPECT_EQ(locks().holding, 0u);
  EXPECT_EQ(locks().hold.total(), 2u);
  EXPECT_EQ(locks().lost.total(), 0u);
  EXPECT_EQ(locks().local, 0u);
  c.check_end();
}

TEST_F(lock_metrics, count_calls_by_outcome) {
  const auto l = c.add(0, kind), other = c.add(1, kind);
  const auto a = locked(l);
  const auto contended = other->try_lock();
  ASSERT_TRUE(c.completed(contended));
  EXPECT_EQ(contended->ec, errc::lock_busy);
  EXPECT_EQ(locks().contended, 1u);
  const auto local = l->try_lock();  // refused by the object, without a contender
  ASSERT_TRUE(c.completed(local));
  EXPECT_EQ(locks().contended, 2u);

  const auto cancelled = other->lock();
  c.world.advance(1s);
  other->give_up(cancelled);
  ASSERT_TRUE(c.completed(cancelled));
  EXPECT_EQ(locks().cancelled, 1u);

  const auto give_up = [&](bool has_deadline) {
    const auto b = other->lock();
    b->gave_up = true;
    b->who->has_deadline = has_deadline;
    c.world.advance(1s);
    {
      const recipes::session_context::scope inside{c.world.client(1)};
      other->object().give_up(b->who, errc::lock_busy);
    }
    ASSERT_TRUE(c.completed(b));
  };
  give_up(true);
  EXPECT_EQ(locks().timed_out, 1u);
  give_up(false);  // a stop was requested
  EXPECT_EQ(locks().cancelled, 2u);

  const auto failed = other->lock();
  c.world.advance(1s);
  for (const auto& node : c.children(path))
    if (path + '/' + node != a->hold->nodes()[0]) c.world.by_hand().remove(path + '/' + node);
  ASSERT_TRUE(c.completed(failed));
  EXPECT_EQ(failed->ec, errc::waiter_node_deleted);
  const auto s = locks();
  EXPECT_EQ(s.failed, 1u);
  EXPECT_EQ(s.acquired, 1u);
  EXPECT_EQ(s.wait.total(), 1u);
  EXPECT_EQ(s.waiting, 0u);
  l->unlock(a);
  c.check_end();
}

TEST_F(lock_metrics, count_a_lost_reply_once) {
  const auto before = snapshot();
  EXPECT_EQ(before.sessions.started, 2u);
  first().drop_reply(opcode::create2);
  const auto l = c.add(0, kind);
  const auto a = locked(l);
  const auto s = snapshot();
  EXPECT_EQ(s.of(conclave::lock_kind::lock).acquired, 1u);
  EXPECT_EQ(s.requests.outcome_unknown, 1u);
  EXPECT_EQ(s.sessions.started, 2u);
  EXPECT_EQ(s.sessions.connections_lost, 1u);
  EXPECT_EQ(s.sessions.reconnects, 1u);
  EXPECT_EQ(s.sessions.expired, 0u);
  l->unlock(a);
  c.check_end();
  EXPECT_EQ(locks().hold.total(), 1u);
}

TEST_F(lock_metrics, count_every_answered_request) {
  const auto l = c.add(0, kind);
  for (int i = 0; i < 5; ++i) l->unlock(locked(l));
  c.check_end();
  const auto r = snapshot().requests;
  const auto sent = static_cast<std::uint64_t>(first().traffic().all());
  EXPECT_GT(sent, 5u);
  EXPECT_EQ(r.succeeded + r.refused, sent);
  EXPECT_EQ(r.latency.total(), sent);
  EXPECT_NEAR(r.latency.sum, static_cast<double>(sent) * 0.002, 1e-8);  // 1 ms in each direction
  EXPECT_EQ(r.outcome_unknown + r.cancelled + r.failed, 0u);
}

TEST_F(lock_metrics, count_a_hold_that_is_lost_with_its_session) {
  const auto l = c.add(0, kind);
  const auto a = locked(l);
  const auto held_since = a->completed_at;
  expire();
  ASSERT_TRUE(c.lost(a));
  c.world.advance(5s);
  const auto s = snapshot();
  const auto& n = s.of(conclave::lock_kind::lock);
  EXPECT_EQ(n.lost.deadline_passed, 1u);
  EXPECT_EQ(n.lost.total(), 1u);
  EXPECT_EQ(n.holding, 0u);
  EXPECT_EQ(n.hold.total(), 1u);
  EXPECT_NEAR(n.hold.sum, seconds(a->lost_at - held_since), 1e-8);
  EXPECT_EQ(s.sessions.started, 3u);
  EXPECT_EQ(s.sessions.connections_lost, 1u);
  EXPECT_EQ(s.sessions.reconnects, 0u);
  EXPECT_EQ(s.sessions.expired, 1u);
  EXPECT_GT(s.sessions.failed_attempts, 0u);
  l->unlock(a);  // a lost hold has ended before
  EXPECT_EQ(locks().hold.total(), 1u);
  c.check_end();
}

TEST_F(lock_metrics, count_a_loss_by_its_reason) {
  const auto l = c.add(0, kind);
  const auto a = locked(l);
  c.world.by_hand().remove(a->hold->nodes()[0]);
  a->node_was_deleted = true;
  ASSERT_TRUE(c.lost(a));
  EXPECT_EQ(locks().lost.node_deleted, 1u);
  l->unlock(a);
  const auto b = locked(l);
  first().close();
  ASSERT_TRUE(c.lost(b));
  EXPECT_EQ(locks().lost.closed, 1u);
  EXPECT_EQ(locks().lost.total(), 2u);
  EXPECT_EQ(locks().hold.total(), 2u);
}

TEST_F(lock_metrics, tell_local_grants_apart) {
  const auto l = kept();
  const auto before = locks();
  EXPECT_EQ(before.acquired, 1u);
  EXPECT_EQ(before.local, 0u);
  for (int i = 0; i < 3; ++i) l->unlock(locked(l));
  c.world.advance(10ms);
  for (int i = 0; i < 4; ++i) l->unlock(l->lock_locally());
  const auto s = locks();
  EXPECT_EQ(s.acquired, 8u);
  EXPECT_EQ(s.local, 7u);
  EXPECT_EQ(s.untimed, 4u);
  EXPECT_EQ(s.wait.total(), 4u);
  EXPECT_EQ(s.hold.total(), 4u);
  EXPECT_EQ(s.holding, 0u);
  l->close();
  c.check_end();
}

TEST_F(lock_metrics, count_the_loss_of_an_untimed_hold) {
  const auto l = kept();
  const auto a = l->lock_locally();
  ASSERT_TRUE(a);
  expire();
  ASSERT_TRUE(c.lost(a));
  const auto s = locks();
  EXPECT_EQ(s.lost.total(), 1u);
  EXPECT_EQ(s.untimed, 1u);
  EXPECT_EQ(s.hold.total(), 1u);
  EXPECT_EQ(s.holding, 0u);
  l->unlock(a);
  l->close();
  c.check_end();
}

// A kept lock that no caller holds is released, not lost.
TEST_F(lock_metrics, do_not_count_an_idle_kept_lock_as_lost) {
  const auto l = kept();
  expire();
  c.world.advance(5s);
  EXPECT_EQ(locks().lost.total(), 0u);
  EXPECT_EQ(locks().hold.total(), 1u);
  l->close();
  c.check_end();
}

TEST_F(lock_metrics, distinguish_the_kinds) {
  const auto l = c.add(0, kind), rw = c.add(0, a_shared_mutex("/locks/rw")),
             permits = c.add(0, a_semaphore("/locks/permits", 2)),
             leader = c.add(0, an_election("/locks/leader"));
  for (const auto& each : {l, rw, permits, leader}) each->unlock(locked(each));
  const auto reader = rw->lock(role::reader);
  ASSERT_TRUE(c.granted(reader));
  rw->unlock(reader);
  using k = conclave::lock_kind;
  EXPECT_EQ(locks(k::lock).acquired, 1u);
  EXPECT_EQ(locks(k::read_write_lock).acquired, 2u);
  EXPECT_EQ(locks(k::semaphore).acquired, 1u);
  EXPECT_EQ(locks(k::election).acquired, 1u);
  for (const auto each : {k::lock, k::read_write_lock, k::semaphore, k::election}) {
    EXPECT_EQ(locks(each).hold.total(), locks(each).acquired) << to_string(each);
    EXPECT_EQ(locks(each).waiting + locks(each).holding, 0u) << to_string(each);
  }
  c.check_end();
}

class queue_metrics : public testing::Test {
 protected:
  queue_metrics() {
    EXPECT_TRUE(w.wait_until_connected());
    w.by_hand().create("/queue");
  }
  metrics_snapshot::queue_counts queues() const { return options.metrics->snapshot().queues; }
  void completed(test_consumer& who, int calls) {
    ASSERT_TRUE(w.run_until([&] { return who.completions == calls; }));
  }
  void push(test_producer& by) {
    const auto pushed = by.push("item");
    ASSERT_TRUE(w.run_until([&] { return pushed->has_value(); }));
    ASSERT_FALSE(**pushed);
  }

  const world_options options{counted_clients()};
  world w{options};
};

TEST_F(queue_metrics, count_pushes_and_pops) {
  test_producer producer{w.client(0)};
  test_consumer consumer{w.client(1)};
  consumer.acquire();
  w.advance(2s);
  push(producer);
  completed(consumer, 1);
  auto q = queues();
  EXPECT_EQ(q.push.succeeded, 1u);
  EXPECT_EQ(q.push.time.total(), 1u);
  EXPECT_EQ(q.pushed_items, 1u);
  EXPECT_EQ(q.pop.succeeded, 1u);
  EXPECT_EQ(q.popped_items, 1u);
  EXPECT_EQ(q.pop.time.total(), 1u);
  EXPECT_GT(q.pop.time.sum, 2.0);

  consumer.acquire(false);
  completed(consumer, 2);
  EXPECT_EQ(queues().pop.unavailable, 1u);
  const auto waiting = consumer.acquire();
  w.advance(1s);
  consumer.give_up(waiting);
  completed(consumer, 3);
  q = queues();
  EXPECT_EQ(q.pop.cancelled, 1u);
  EXPECT_EQ(q.pop.time.total(), 1u);
  EXPECT_EQ(q.popped_items, 1u);
}

TEST_F(queue_metrics, count_a_full_queue) {
  test_producer producer{w.client(0), 1};
  push(producer);
  const auto refused = producer.push("item", false);
  ASSERT_TRUE(w.run_until([&] { return refused->has_value(); }));
  EXPECT_EQ(queues().push.unavailable, 1u);
  EXPECT_EQ(queues().pushed_items, 1u);
}

TEST_F(queue_metrics, count_a_push_with_a_lost_reply_once) {
  test_producer producer{w.client(0)};
  push(producer);
  w.client(0).drop_reply(opcode::multi);
  push(producer);
  EXPECT_EQ(queues().push.succeeded, 2u);
  EXPECT_EQ(queues().pushed_items, 2u);
  EXPECT_EQ(options.metrics->snapshot().requests.outcome_unknown, 1u);
}

TEST_F(queue_metrics, count_claims_by_their_end) {
  test_producer producer{w.client(0)};
  test_consumer consumer{w.client(1), test_consumer::claiming()};
  push(producer);
  consumer.acquire();
  completed(consumer, 1);
  w.advance(3s);
  consumer.release();
  auto q = queues();
  EXPECT_EQ(q.claim.succeeded, 1u);
  EXPECT_EQ(q.released_claims, 1u);
  EXPECT_EQ(q.claim_time.total(), 1u);
  EXPECT_NEAR(q.claim_time.sum, 3, 0.01);

  consumer.acquire();
  completed(consumer, 2);
  const auto done = consumer.complete();
  ASSERT_TRUE(w.run_until([&] { return done->has_value(); }));
  ASSERT_FALSE(**done);
  q = queues();
  EXPECT_EQ(q.complete.succeeded, 1u);
  EXPECT_EQ(q.complete.time.total(), 1u);
  EXPECT_EQ(q.popped_items, 1u);
  EXPECT_EQ(q.claim_time.total(), 2u);

  push(producer);
  consumer.acquire();
  completed(consumer, 3);
  w.client(1).refuse_connections(true);
  w.client(1).disconnect();
  w.advance(30s);
  w.client(1).refuse_connections(false);
  EXPECT_EQ(queues().lost_claims.deadline_passed, 1u);
  const auto failed = consumer.complete();
  ASSERT_TRUE(w.run_until([&] { return failed->has_value(); }));
  q = queues();
  EXPECT_EQ(q.complete.failed, 1u);
  EXPECT_EQ(q.claim_time.total(), 3u);
  EXPECT_EQ(q.popped_items, 1u);
  EXPECT_EQ(q.released_claims, 1u);
}

}  // namespace
}  // namespace conclave::simulated
