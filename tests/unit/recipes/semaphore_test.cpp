// Permits: never too many are held, they are granted in order, and none is lost.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_test_world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

world_options six_clients() {
  world_options o;
  o.clients = 6;
  o.session_timeout = 10s;
  return o;
}

class permits : public testing::Test {
 protected:
  lock_test_world c{six_clients()};
  const std::string locks = "/slots/locks", leases = "/slots/leases";
  lock_kind of(std::size_t n) const { return a_semaphore("/slots", n); }
  direct_client& by_hand() { return c.world.by_hand(); }
  struct caller {
    locker_pointer l;
    call_pointer a;
  };
  caller enter(std::size_t client, std::size_t n) {
    const auto l = c.add(client, of(n));
    caller o{l, l->lock()};
    c.world.advance(20ms);
    return o;
  }
  void release(const caller& o) { o.l->unlock(o.a); }
  void expire(std::size_t client) {
    auto& link = c.world.client(client);
    link.refuse_connections(true);
    link.disconnect();
    c.world.advance(30s);
    link.refuse_connections(false);
  }
};

TEST_F(permits, are_granted_in_order) {
  std::vector<caller> all;
  for (std::size_t i = 0; i < 6; ++i) all.push_back(enter(i, 3));
  c.finish_pending_work();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(all[i].a->granted(), i < 3) << i;
  EXPECT_EQ(c.children(leases).size(), 4u);  // the first waiter has its node already
  EXPECT_EQ(c.children(locks).size(), 3u);
  release(all[1]);
  c.finish_pending_work();
  EXPECT_TRUE(all[3].a->holding());
  EXPECT_EQ(all[4].a->completions, 0);
  for (const std::size_t i : {0u, 2u, 3u}) release(all[i]);
  ASSERT_TRUE(c.granted(all[4].a) && c.granted(all[5].a));
  release(all[4]);
  release(all[5]);
  c.check_end();
  EXPECT_EQ(c.judge->most_holders("/slots"), 3u);
}

TEST_F(permits, one_object_can_hold_several) {
  const auto l = c.add(0, of(3)), m = c.add(1, of(3));
  std::vector<call_pointer> all;
  for (int i = 0; i < 4; ++i) all.push_back(l->lock());
  c.finish_pending_work();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(all[i]->granted(), i < 3);
  const auto other = m->lock();
  c.finish_pending_work();
  EXPECT_EQ(other->completions, 0);
  l->unlock(all[0]);
  ASSERT_TRUE(c.granted(all[3]));
  EXPECT_EQ(l->hold(role::exclusive), all[3]->hold);
  l->unlock(all[1]);
  ASSERT_TRUE(c.granted(other));
  l->close();
  m->unlock(other);
  c.check_end();
}

// A release returns a lost permit first, because the others are still valid.
TEST_F(permits, lost_ones_are_released_first) {
  const auto l = c.add(0, of(2));
  const auto a = l->lock();
  ASSERT_TRUE(c.granted(a));
  const auto b = l->lock();
  ASSERT_TRUE(c.granted(b));
  ASSERT_NE(a->hold, b->hold);
  c.world.advance(200ms);
  by_hand().remove(b->hold->nodes()[0]);
  ASSERT_TRUE(c.lost(b));
  l->unlock(b);
  EXPECT_TRUE(a->held());
  c.finish_pending_work();
  EXPECT_EQ(c.children(leases).size(), 1u);
  l->unlock(a);
  c.check_end();
}

TEST_F(permits, try_lock_fails_and_leaves_no_node) {
  const auto a = enter(0, 1);
  const auto l = c.add(1, of(1));
  const auto b = l->try_lock();
  ASSERT_TRUE(c.completed(b));
  EXPECT_EQ(b->ec, errc::lock_busy);
  c.finish_pending_work();
  EXPECT_EQ(c.children(leases).size(), 1u);
  EXPECT_TRUE(c.children(locks).empty());
  release(a);
  c.finish_pending_work();
  const auto d = l->try_lock();
  ASSERT_TRUE(c.granted(d));
  l->unlock(d);
  c.check_end();
}

// While another contender holds the admission lock, try_lock fails and lock waits.
TEST_F(permits, each_caller_chooses_whether_to_wait) {
  const auto a = enter(0, 1), b = enter(1, 1);
  const auto l = c.add(2, of(1));
  const auto d = l->try_lock();
  c.world.advance(1s);
  EXPECT_EQ(d->completions, 1);
  EXPECT_EQ(d->ec, errc::lock_busy);
  const auto e = l->lock();
  c.world.advance(1s);
  EXPECT_EQ(e->completions, 0) << name_of(e->ec);
  release(a);
  ASSERT_TRUE(c.granted(b.a));
  release(b);
  if (d->completions == 0) l->give_up(d);
  ASSERT_TRUE(c.granted(e)) << name_of(e->ec);
  l->unlock(e);
  c.check_end();
}

TEST_F(permits, a_release_wakes_one_waiter) {
  std::vector<caller> all;
  for (std::size_t i = 0; i < 18; ++i) all.push_back(enter(i % 6, 2));
  c.finish_pending_work();
  int events = 0;
  for (std::size_t i = 0; i < 6; ++i) events -= c.world.client(i).traffic().events;
  release(all[0]);
  ASSERT_TRUE(c.granted(all[2].a));
  c.world.advance(20ms);
  for (std::size_t i = 0; i < 6; ++i) events += c.world.client(i).traffic().events;
  // The watches on the two deleted nodes (a lease and a node of the admission lock), and that of
  // the waiter.
  EXPECT_LE(events, 5);
  for (std::size_t i = 1; i < all.size(); ++i) {
    ASSERT_TRUE(c.granted(all[i].a));
    release(all[i]);
  }
  c.check_end();
}

// --- expired sessions

TEST_F(permits, a_holder_whose_session_expires_is_notified_before_the_next_grant) {
  const auto a = enter(0, 1), b = enter(1, 1);
  expire(0);
  ASSERT_TRUE(c.granted(b.a));
  EXPECT_TRUE(a.a->lost());
  EXPECT_LT(a.a->lost_at, b.a->completed_at);
  EXPECT_EQ(a.l->count("lost deadline_passed"), 1);
  release(a);
  release(b);
  c.check_end();
}

TEST_F(permits, an_expired_holder_of_the_admission_lock_starts_again_at_the_end) {
  const auto a = enter(0, 1), b = enter(1, 1), d = enter(2, 1);
  ASSERT_EQ(c.children(leases).size(), 2u);
  expire(1);
  c.finish_pending_work();
  EXPECT_EQ(b.a->completions, 0) << name_of(b.a->ec);
  EXPECT_EQ(c.children(locks).size(), 2u);
  release(a);
  ASSERT_TRUE(c.granted(d.a));
  c.finish_pending_work();
  EXPECT_EQ(b.a->completions, 0);
  release(d);
  ASSERT_TRUE(c.granted(b.a));
  EXPECT_EQ(b.l->journal(), lines{});
  release(b);
  c.check_end();
}

TEST_F(permits, an_expired_waiter_for_the_admission_lock_starts_again) {
  const auto a = enter(0, 1), b = enter(1, 1), d = enter(2, 1);
  expire(2);
  c.finish_pending_work();
  EXPECT_EQ(d.a->completions, 0) << name_of(d.a->ec);
  release(a);
  ASSERT_TRUE(c.granted(b.a));
  release(b);
  ASSERT_TRUE(c.granted(d.a)) << name_of(d.a->ec);
  release(d);
  c.check_end();
}

TEST_F(permits, a_stopped_waiter_starts_again) {
  for (const std::size_t who : {1u, 2u}) {
    const auto a = enter(0, 1), b = enter(1, 1), d = enter(2, 1);
    c.world.client(who).pause();
    c.world.advance(30s);
    c.world.client(who).resume();
    c.finish_pending_work();
    release(a);
    const auto& next = who == 1 ? d : b;
    const auto& last = who == 1 ? b : d;
    ASSERT_TRUE(c.granted(next.a));
    release(next);
    ASSERT_TRUE(c.granted(last.a)) << name_of(last.a->ec);
    release(last);
    c.check_end();
  }
}

TEST_F(permits, waiters_fail_if_the_client_starts_no_new_session) {
  auto o = six_clients();
  o.renew_expired = false;
  lock_test_world last{o};
  std::vector<locker_pointer> l;
  std::vector<call_pointer> a;
  for (std::size_t i = 0; i < 3; ++i) {
    l.push_back(last.add(i, of(1)));
    a.push_back(l[i]->lock());
    last.world.advance(20ms);
  }
  for (const std::size_t i : {1u, 2u}) {
    last.world.client(i).refuse_connections(true);
    last.world.client(i).disconnect();
  }
  last.world.advance(30s);
  for (const std::size_t i : {1u, 2u}) last.world.client(i).refuse_connections(false);
  for (const std::size_t i : {1u, 2u}) {
    ASSERT_TRUE(last.completed(a[i]));
    EXPECT_EQ(a[i]->ec, errc::session_expired);
  }
  l[0]->unlock(a[0]);
  last.finish_pending_work();
  EXPECT_TRUE(last.children(leases).empty());
}

TEST_F(permits, waiters_fail_when_the_client_is_closed) {
  const auto a = enter(0, 1), b = enter(1, 1), d = enter(2, 1);
  c.world.client(1).close();
  c.world.client(2).close();
  ASSERT_TRUE(c.completed(b.a) && c.completed(d.a));
  EXPECT_EQ(b.a->ec, errc::closed);
  EXPECT_EQ(d.a->ec, errc::closed);
  release(a);
  c.check_end();
}

// --- nodes deleted by hand

TEST_F(permits, a_deleted_permit_is_lost_and_granted_to_the_next_waiter) {
  const auto a = enter(0, 1), b = enter(1, 1);
  c.world.advance(200ms);
  a.a->node_was_deleted = true;
  by_hand().remove(a.a->hold->nodes()[0]);
  ASSERT_TRUE(c.granted(b.a));
  ASSERT_TRUE(c.lost(a.a));
  release(a);
  release(b);
  c.check_end();
}

TEST_F(permits, a_holder_of_the_admission_lock_whose_node_is_deleted_starts_again) {
  const auto a = enter(0, 1), b = enter(1, 1), d = enter(2, 1);
  c.world.advance(200ms);
  by_hand().remove(locks + '/' + c.children(locks)[0]);
  c.finish_pending_work();
  EXPECT_EQ(b.a->completions, 0) << name_of(b.a->ec);
  EXPECT_EQ(c.children(locks).size(), 2u);
  EXPECT_EQ(c.children(leases).size(), 2u);
  release(a);
  ASSERT_TRUE(c.granted(d.a));
  release(d);
  ASSERT_TRUE(c.granted(b.a));
  release(b);
  c.check_end();
}

TEST_F(permits, a_waiter_whose_node_is_deleted_fails) {
  const auto a = enter(0, 1), b = enter(1, 1), d = enter(2, 1), e = enter(3, 1);
  c.world.advance(200ms);
  by_hand().remove(leases + '/' + c.children(leases)[1]);
  ASSERT_TRUE(c.completed(b.a));
  EXPECT_EQ(b.a->ec, errc::waiter_node_deleted);
  c.finish_pending_work();
  by_hand().remove(locks + '/' + c.children(locks)[1]);
  ASSERT_TRUE(c.completed(e.a));
  EXPECT_EQ(e.a->ec, errc::waiter_node_deleted);
  release(a);
  ASSERT_TRUE(c.granted(d.a));
  release(d);
  c.check_end();
}

TEST_F(permits, a_foreign_lease_counts) {
  const auto a = enter(0, 2);
  direct_client curator{c.world.server()};
  const auto theirs =
      curator.create_sequential(leases + "/_c_12345678-1234-1234-1234-123456789012-lease-");
  const auto b = enter(1, 2);
  c.finish_pending_work();
  EXPECT_EQ(b.a->completions, 0);
  curator.end();
  ASSERT_TRUE(c.granted(b.a));
  release(a);
  release(b);
  c.check_end();
}

// --- giving up

TEST_F(permits, a_caller_that_gives_up_after_any_event_leaves_no_node) {
  int cancelled = 0;
  for (const int fault : {0, 1, 2, 3})
    for (const bool busy : {true, false}) {
      bool was_completed = false;
      for (int k = 0; !was_completed; ++k) {
        SCOPED_TRACE(testing::Message() << "event " << k << ", fault " << fault << ", " << busy);
        lock_test_world fresh{six_clients()};
        const auto l = fresh.add(0, of(1)), m = fresh.add(1, of(1)), n = fresh.add(2, of(1));
        const auto a = m->lock();
        ASSERT_TRUE(fresh.granted(a));
        auto& link = fresh.world.client(0);
        if (fault == 1) link.drop_reply(opcode::create2);
        if (fault == 2) link.drop_reply(opcode::get_children2);
        if (fault == 3) link.disconnect_after_frames(direction::down, 4);
        const auto b = l->lock();
        fresh.world.after(busy ? 30ms : 1ms, [&] { m->unlock(a); });
        for (int i = 0; i < k; ++i) fresh.world.step();
        was_completed = b->completions > 0;
        l->give_up(b);
        ASSERT_TRUE(fresh.completed(b));
        if (b->granted()) l->unlock(b);
        cancelled += b->completions > 0 && b->ec;
        fresh.run_until([&] { return a->unlocked; });
        const auto d = n->lock();
        ASSERT_TRUE(fresh.granted(d));
        n->unlock(d);
        fresh.check_end();
        ASSERT_FALSE(HasFailure());
      }
    }
  EXPECT_GT(cancelled, 50);
}

// --- the number of permits

TEST_F(permits, a_different_number_is_refused_while_one_is_held) {
  const auto first = enter(0, 1);
  ASSERT_TRUE(first.a->holding());
  const auto other = enter(1, 3);
  EXPECT_EQ(other.a->ec, errc::permits_mismatch);
  EXPECT_EQ(other.a->who->mismatch, "it is in use with 1 permits, not 3");
  c.finish_pending_work();
  EXPECT_EQ(c.children(leases).size(), 1u);
  EXPECT_EQ(c.children(locks).size(), 0u);
  release(first);
  c.finish_pending_work();
  // No permit is held, so the number may change.
  const auto three = enter(2, 3), also = enter(3, 3);
  EXPECT_TRUE(three.a->holding() && also.a->holding());
  const auto refused = enter(4, 1);
  EXPECT_EQ(refused.a->ec, errc::permits_mismatch);
  release(three);
  release(also);
  c.check_end();
}

TEST_F(permits, a_waiter_with_a_different_number_is_refused_at_the_head_of_the_queue) {
  const auto first = enter(0, 1), next = enter(1, 1), other = enter(2, 2), last = enter(3, 1);
  EXPECT_EQ(other.a->completions, 0);
  release(first);
  ASSERT_TRUE(c.granted(next.a));
  ASSERT_TRUE(c.completed(other.a));
  EXPECT_EQ(other.a->ec, errc::permits_mismatch);
  EXPECT_EQ(last.a->completions, 0);
  release(next);
  ASSERT_TRUE(c.granted(last.a));
  release(last);
  c.check_end();
}

TEST_F(permits, a_mutex_on_the_same_path_is_refused) {
  for (const bool tickets : {false, true}) {
    SCOPED_TRACE(tickets);
    lock_options o;
    o.tickets = tickets;
    const auto m = c.add(4, a_mutex({"/slots"}), o), n = c.add(5, a_shared_mutex("/slots"), o);
    const auto as_mutex = [&] {
      auto call = m->lock();
      c.world.advance(50ms);
      return call;
    };
    // Writes a served ticket, so that the next mutex need not list the path.
    const auto before = as_mutex();
    ASSERT_TRUE(before->holding());
    m->unlock(before);
    c.finish_pending_work();
    const auto p = enter(0, 2);
    ASSERT_TRUE(p.a->holding());
    EXPECT_EQ(as_mutex()->ec, errc::permits_mismatch);
    for (const auto as : {role::reader, role::writer}) {
      const auto refused = n->lock(as);
      ASSERT_TRUE(c.completed(refused));
      EXPECT_EQ(refused->ec, errc::permits_mismatch);
    }
    release(p);
    c.finish_pending_work();
    const auto held = as_mutex();
    ASSERT_TRUE(held->holding());
    const auto refused = enter(1, 2);
    EXPECT_EQ(refused.a->ec, errc::permits_mismatch);
    EXPECT_EQ(refused.a->who->mismatch.find("node lock-"), 0u) << refused.a->who->mismatch;
    m->unlock(held);
    c.finish_pending_work();
    const auto again = enter(2, 2);
    EXPECT_TRUE(again.a->holding());
    release(again);
    c.finish_pending_work();
  }
}

// The mutex and the semaphore start at about the same time.
TEST_F(permits, a_mutex_and_a_permit_are_never_held_together) {
  const auto m = c.add(1, a_mutex({"/slots"}));
  for (int distance = -60; distance < 60; ++distance) {
    SCOPED_TRACE(distance);
    const auto served = m->lock();
    ASSERT_TRUE(c.granted(served));
    m->unlock(served);
    c.finish_pending_work();
    call_pointer a;
    if (distance < 0) a = m->lock();
    if (distance < 0) c.world.advance(-distance * 100us);
    const auto l = c.add(0, of(2));
    const auto p = l->lock();
    if (distance >= 0) c.world.advance(distance * 100us);
    if (distance >= 0) a = m->lock();
    ASSERT_TRUE(c.completed(a) && c.completed(p));
    EXPECT_FALSE(a->holding() && p->holding());
    if (a->holding()) m->unlock(a);
    if (p->holding()) l->unlock(p);
    c.finish_pending_work();
  }
}

TEST_F(permits, foreign_data_is_not_overwritten) {
  by_hand().create("/slots", "10.0.0.1");
  const auto p = enter(0, 2), q = enter(1, 2);
  EXPECT_TRUE(p.a->holding() && q.a->holding());
  release(p);
  release(q);
  EXPECT_EQ(by_hand().get("/slots").data, "10.0.0.1");
  c.check_end();
}

}  // namespace
}  // namespace conclave::simulated
