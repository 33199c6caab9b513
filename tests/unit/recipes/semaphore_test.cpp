// Permits: never more than there are, in the order of coming, and none gets lost.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_contest.hpp"

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
  lock_contest c{six_clients()};
  const std::string locks = "/slots/locks", leases = "/slots/leases";
  lock_kind of(std::size_t n) const { return a_semaphore("/slots", n); }
  hand& by_hand() { return c.world.by_hand(); }
  struct one {
    locker_pointer l;
    call_pointer a;
  };
  one comes(std::size_t client, std::size_t n) {
    const auto l = c.add(client, of(n));
    one o{l, l->lock()};
    c.world.advance(20ms);
    return o;
  }
  void out(const one& o) { o.l->unlock(o.a); }
  void expire(std::size_t client) {
    auto& link = c.world.client(client);
    link.refuse_connections(true);
    link.cut();
    c.world.advance(30s);
    link.refuse_connections(false);
  }
};

TEST_F(permits, all_are_given_and_the_rest_in_the_order_of_coming) {
  std::vector<one> all;
  for (std::size_t i = 0; i < 6; ++i) all.push_back(comes(i, 3));
  c.quieten();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(all[i].a->granted(), i < 3) << i;
  EXPECT_EQ(c.children(leases).size(), 4u);  // the next one stands ready
  EXPECT_EQ(c.children(locks).size(), 3u);
  out(all[1]);
  c.quieten();
  EXPECT_TRUE(all[3].a->holding());
  EXPECT_EQ(all[4].a->told, 0);
  for (const std::size_t i : {0u, 2u, 3u}) out(all[i]);
  ASSERT_TRUE(c.granted(all[4].a) && c.granted(all[5].a));
  out(all[4]);
  out(all[5]);
  c.check_end();
  EXPECT_EQ(c.judge->most_holders("/slots"), 3u);
}

TEST_F(permits, several_of_one_object) {
  const auto l = c.add(0, of(3)), m = c.add(1, of(3));
  std::vector<call_pointer> all;
  for (int i = 0; i < 4; ++i) all.push_back(l->lock());
  c.quieten();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(all[i]->granted(), i < 3);
  const auto other = m->lock();
  c.quieten();
  EXPECT_EQ(other->told, 0);
  l->unlock(all[0]);
  ASSERT_TRUE(c.granted(all[3]));
  EXPECT_EQ(l->hold(role::exclusive), all[3]->hold);
  l->unlock(all[1]);
  ASSERT_TRUE(c.granted(other));
  l->close();
  m->unlock(other);
  c.check_end();
}

// Releasing gives back a lost one first: the others are still good.
TEST_F(permits, a_lost_one_is_given_back_before_a_good_one) {
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
  c.quieten();
  EXPECT_EQ(c.children(leases).size(), 1u);
  l->unlock(a);
  c.check_end();
}

TEST_F(permits, one_that_is_not_patient_is_told_and_leaves_nothing) {
  const auto a = comes(0, 1);
  const auto l = c.add(1, of(1));
  const auto b = l->try_lock();
  ASSERT_TRUE(c.told(b));
  EXPECT_EQ(b->ec, errc::lock_busy);
  c.quieten();
  EXPECT_EQ(c.children(leases).size(), 1u);
  EXPECT_TRUE(c.children(locks).empty());
  out(a);
  c.quieten();
  const auto d = l->try_lock();
  ASSERT_TRUE(c.granted(d));
  l->unlock(d);
  c.check_end();
}

// Somebody stands at the gate: who is not patient does not wait behind it, and who is does.
TEST_F(permits, patience_is_each_callers_own) {
  const auto a = comes(0, 1), b = comes(1, 1);
  const auto l = c.add(2, of(1));
  const auto d = l->try_lock();
  c.world.advance(1s);
  EXPECT_EQ(d->told, 1);
  EXPECT_EQ(d->ec, errc::lock_busy);
  const auto e = l->lock();
  c.world.advance(1s);
  EXPECT_EQ(e->told, 0) << name_of(e->ec);
  out(a);
  ASSERT_TRUE(c.granted(b.a));
  out(b);
  if (d->told == 0) l->give_up(d);
  ASSERT_TRUE(c.granted(e)) << name_of(e->ec);
  l->unlock(e);
  c.check_end();
}

TEST_F(permits, a_released_one_wakes_one_waiter) {
  std::vector<one> all;
  for (std::size_t i = 0; i < 18; ++i) all.push_back(comes(i % 6, 2));
  c.quieten();
  int events = 0;
  for (std::size_t i = 0; i < 6; ++i) events -= c.world.client(i).traffic().events;
  out(all[0]);
  ASSERT_TRUE(c.granted(all[2].a));
  c.world.advance(20ms);
  for (std::size_t i = 0; i < 6; ++i) events += c.world.client(i).traffic().events;
  // The watches of nodes that went (a permit, a place at the gate), and of the one that waits.
  EXPECT_LE(events, 5);
  for (std::size_t i = 1; i < all.size(); ++i) {
    ASSERT_TRUE(c.granted(all[i].a));
    out(all[i]);
  }
  c.check_end();
}

// --- sessions that end

TEST_F(permits, an_expired_holder_is_told_before_the_next_one_has_its_permit) {
  const auto a = comes(0, 1), b = comes(1, 1);
  expire(0);
  ASSERT_TRUE(c.granted(b.a));
  EXPECT_TRUE(a.a->lost());
  EXPECT_LT(a.a->lost_at, b.a->told_at);
  EXPECT_EQ(a.l->count("lost deadline_passed"), 1);
  out(a);
  out(b);
  c.check_end();
}

TEST_F(permits, one_at_the_gate_that_expires_begins_again_at_the_end) {
  const auto a = comes(0, 1), b = comes(1, 1), d = comes(2, 1);
  ASSERT_EQ(c.children(leases).size(), 2u);
  expire(1);
  c.quieten();
  EXPECT_EQ(b.a->told, 0) << name_of(b.a->ec);
  EXPECT_EQ(c.children(locks).size(), 2u);
  out(a);
  ASSERT_TRUE(c.granted(d.a));
  c.quieten();
  EXPECT_EQ(b.a->told, 0);
  out(d);
  ASSERT_TRUE(c.granted(b.a));
  EXPECT_EQ(b.l->journal(), lines{});
  out(b);
  c.check_end();
}

TEST_F(permits, one_behind_the_gate_that_expires_begins_again) {
  const auto a = comes(0, 1), b = comes(1, 1), d = comes(2, 1);
  expire(2);
  c.quieten();
  EXPECT_EQ(d.a->told, 0) << name_of(d.a->ec);
  out(a);
  ASSERT_TRUE(c.granted(b.a));
  out(b);
  ASSERT_TRUE(c.granted(d.a)) << name_of(d.a->ec);
  out(d);
  c.check_end();
}

TEST_F(permits, one_that_stood_still_at_the_gate_begins_again) {
  for (const std::size_t who : {1u, 2u}) {
    const auto a = comes(0, 1), b = comes(1, 1), d = comes(2, 1);
    c.world.client(who).pause();
    c.world.advance(30s);
    c.world.client(who).resume();
    c.quieten();
    out(a);
    const auto& next = who == 1 ? d : b;
    const auto& last = who == 1 ? b : d;
    ASSERT_TRUE(c.granted(next.a));
    out(next);
    ASSERT_TRUE(c.granted(last.a)) << name_of(last.a->ec);
    out(last);
    c.check_end();
  }
}

TEST_F(permits, without_a_next_session_those_who_wait_fail) {
  auto o = six_clients();
  o.renew_expired = false;
  lock_contest last{o};
  std::vector<locker_pointer> l;
  std::vector<call_pointer> a;
  for (std::size_t i = 0; i < 3; ++i) {
    l.push_back(last.add(i, of(1)));
    a.push_back(l[i]->lock());
    last.world.advance(20ms);
  }
  for (const std::size_t i : {1u, 2u}) {
    last.world.client(i).refuse_connections(true);
    last.world.client(i).cut();
  }
  last.world.advance(30s);
  for (const std::size_t i : {1u, 2u}) last.world.client(i).refuse_connections(false);
  for (const std::size_t i : {1u, 2u}) {
    ASSERT_TRUE(last.told(a[i]));
    EXPECT_EQ(a[i]->ec, errc::session_expired);
  }
  l[0]->unlock(a[0]);
  last.quieten();
  EXPECT_TRUE(last.children(leases).empty());
}

TEST_F(permits, end_with_the_client) {
  const auto a = comes(0, 1), b = comes(1, 1), d = comes(2, 1);
  c.world.client(1).close();
  c.world.client(2).close();
  ASSERT_TRUE(c.told(b.a) && c.told(d.a));
  EXPECT_EQ(b.a->ec, errc::closed);
  EXPECT_EQ(d.a->ec, errc::closed);
  out(a);
  c.check_end();
}

// --- by hand

TEST_F(permits, a_deleted_permit_is_lost_and_the_next_one_has_it) {
  const auto a = comes(0, 1), b = comes(1, 1);
  c.world.advance(200ms);
  a.a->robbed = true;
  by_hand().remove(a.a->hold->nodes()[0]);
  ASSERT_TRUE(c.granted(b.a));
  ASSERT_TRUE(c.lost(a.a));
  out(a);
  out(b);
  c.check_end();
}

TEST_F(permits, a_deleted_node_at_the_gate_begins_again) {
  const auto a = comes(0, 1), b = comes(1, 1), d = comes(2, 1);
  c.world.advance(200ms);
  by_hand().remove(locks + '/' + c.children(locks)[0]);
  c.quieten();
  EXPECT_EQ(b.a->told, 0) << name_of(b.a->ec);
  EXPECT_EQ(c.children(locks).size(), 2u);
  EXPECT_EQ(c.children(leases).size(), 2u);
  out(a);
  ASSERT_TRUE(c.granted(d.a));
  out(d);
  ASSERT_TRUE(c.granted(b.a));
  out(b);
  c.check_end();
}

TEST_F(permits, a_deleted_node_of_one_who_waits_fails) {
  const auto a = comes(0, 1), b = comes(1, 1), d = comes(2, 1), e = comes(3, 1);
  c.world.advance(200ms);
  by_hand().remove(leases + '/' + c.children(leases)[1]);
  ASSERT_TRUE(c.told(b.a));
  EXPECT_EQ(b.a->ec, errc::waiter_node_deleted);
  c.quieten();
  by_hand().remove(locks + '/' + c.children(locks)[1]);
  ASSERT_TRUE(c.told(e.a));
  EXPECT_EQ(e.a->ec, errc::waiter_node_deleted);
  out(a);
  ASSERT_TRUE(c.granted(d.a));
  out(d);
  c.check_end();
}

TEST_F(permits, a_stranger_among_the_permits_counts_as_one) {
  const auto a = comes(0, 2);
  hand curator{c.world.server()};
  const auto theirs =
      curator.create_numbered(leases + "/_c_12345678-1234-1234-1234-123456789012-lease-");
  const auto b = comes(1, 2);
  c.quieten();
  EXPECT_EQ(b.a->told, 0);
  curator.end();
  ASSERT_TRUE(c.granted(b.a));
  out(a);
  out(b);
  c.check_end();
}

// --- giving up

TEST_F(permits, giving_up_behind_each_event_leaves_nothing_in_either_place) {
  int cancelled = 0;
  for (const int fault : {0, 1, 2, 3})
    for (const bool busy : {true, false}) {
      bool was_told = false;
      for (int k = 0; !was_told; ++k) {
        SCOPED_TRACE(testing::Message() << "event " << k << ", fault " << fault << ", " << busy);
        lock_contest fresh{six_clients()};
        const auto l = fresh.add(0, of(1)), m = fresh.add(1, of(1)), n = fresh.add(2, of(1));
        const auto a = m->lock();
        ASSERT_TRUE(fresh.granted(a));
        auto& link = fresh.world.client(0);
        if (fault == 1) link.swallow_reply(opcode::create2);
        if (fault == 2) link.swallow_reply(opcode::get_children2);
        if (fault == 3) link.cut_after_frames(direction::down, 4);
        const auto b = l->lock();
        fresh.world.after(busy ? 30ms : 1ms, [&] { m->unlock(a); });
        for (int i = 0; i < k; ++i) fresh.world.step();
        was_told = b->told > 0;
        l->give_up(b);
        ASSERT_TRUE(fresh.told(b));
        if (b->granted()) l->unlock(b);
        cancelled += b->told > 0 && b->ec;
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

TEST_F(permits, of_another_number_are_refused_while_one_is_held) {
  const auto first = comes(0, 1);
  ASSERT_TRUE(first.a->holding());
  const auto other = comes(1, 3);
  EXPECT_EQ(other.a->ec, errc::permits_mismatch);
  EXPECT_EQ(other.a->who->mismatch, "it is in use with 1 permits, not 3");
  c.quieten();
  EXPECT_EQ(c.children(leases).size(), 1u);
  EXPECT_EQ(c.children(locks).size(), 0u);
  out(first);
  c.quieten();
  // Nobody holds one any more: the number may change.
  const auto three = comes(2, 3), also = comes(3, 3);
  EXPECT_TRUE(three.a->holding() && also.a->holding());
  const auto refused = comes(4, 1);
  EXPECT_EQ(refused.a->ec, errc::permits_mismatch);
  out(three);
  out(also);
  c.check_end();
}

TEST_F(permits, that_wait_are_refused_when_their_turn_comes) {
  const auto first = comes(0, 1), next = comes(1, 1), other = comes(2, 2), last = comes(3, 1);
  EXPECT_EQ(other.a->told, 0);
  out(first);
  ASSERT_TRUE(c.granted(next.a));
  ASSERT_TRUE(c.told(other.a));
  EXPECT_EQ(other.a->ec, errc::permits_mismatch);
  EXPECT_EQ(last.a->told, 0);
  out(next);
  ASSERT_TRUE(c.granted(last.a));
  out(last);
  c.check_end();
}

TEST_F(permits, and_a_lock_without_them_do_not_go_together) {
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
    // A ticket was served there, so that the next mutex need not look.
    const auto before = as_mutex();
    ASSERT_TRUE(before->holding());
    m->unlock(before);
    c.quieten();
    const auto p = comes(0, 2);
    ASSERT_TRUE(p.a->holding());
    EXPECT_EQ(as_mutex()->ec, errc::permits_mismatch);
    for (const auto as : {role::reader, role::writer}) {
      const auto refused = n->lock(as);
      ASSERT_TRUE(c.told(refused));
      EXPECT_EQ(refused->ec, errc::permits_mismatch);
    }
    out(p);
    c.quieten();
    const auto held = as_mutex();
    ASSERT_TRUE(held->holding());
    const auto refused = comes(1, 2);
    EXPECT_EQ(refused.a->ec, errc::permits_mismatch);
    EXPECT_EQ(refused.a->who->mismatch.find("node lock-"), 0u) << refused.a->who->mismatch;
    m->unlock(held);
    c.quieten();
    const auto again = comes(2, 2);
    EXPECT_TRUE(again.a->holding());
    out(again);
    c.quieten();
  }
}

// Both come at the same time, at every distance: never both.
TEST_F(permits, and_a_lock_without_them_never_both_though_they_come_together) {
  const auto m = c.add(1, a_mutex({"/slots"}));
  for (int distance = -60; distance < 60; ++distance) {
    SCOPED_TRACE(distance);
    const auto served = m->lock();
    ASSERT_TRUE(c.granted(served));
    m->unlock(served);
    c.quieten();
    call_pointer a;
    if (distance < 0) a = m->lock();
    if (distance < 0) c.world.advance(-distance * 100us);
    const auto l = c.add(0, of(2));
    const auto p = l->lock();
    if (distance >= 0) c.world.advance(distance * 100us);
    if (distance >= 0) a = m->lock();
    ASSERT_TRUE(c.told(a) && c.told(p));
    EXPECT_FALSE(a->holding() && p->holding());
    if (a->holding()) m->unlock(a);
    if (p->holding()) l->unlock(p);
    c.quieten();
  }
}

TEST_F(permits, leave_somebody_elses_data_alone) {
  by_hand().create("/slots", "10.0.0.1");
  const auto p = comes(0, 2), q = comes(1, 2);
  EXPECT_TRUE(p.a->holding() && q.a->holding());
  out(p);
  out(q);
  EXPECT_EQ(by_hand().get("/slots").data, "10.0.0.1");
  c.check_end();
}

}  // namespace
}  // namespace conclave::simulated
