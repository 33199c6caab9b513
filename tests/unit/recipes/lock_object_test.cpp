// A lock object and its callers: order, cancellation, properties of a hold, callbacks.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_test_world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

world_options three_clients() {
  world_options o;
  o.clients = 3;
  o.session_timeout = 10s;
  o.connect_wait = 10min;
  return o;
}

class lock_object : public testing::Test {
 protected:
  lock_test_world c{three_clients()};
  const std::string path = "/locks/one";
  const lock_kind kind = a_mutex({path});
  client& first() { return c.world.client(0); }
  void SetUp() override {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(path);
  }
  call_pointer holder(const locker_pointer& l) {
    const auto a = l->lock();
    EXPECT_TRUE(c.granted(a));
    return a;
  }
  void expire(std::size_t client) {
    auto& link = c.world.client(client);
    link.refuse_connections(true);
    link.disconnect();
    c.world.advance(30s);
    link.refuse_connections(false);
  }
};

// When a waiting thread wakes up, the latest hold of the object may belong to another caller.
TEST_F(lock_object, each_caller_gets_its_own_hold) {
  const auto l = c.add(0, kind);
  const auto a = l->lock(), b = l->lock();
  ASSERT_TRUE(c.granted(a));
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  ASSERT_TRUE(a->who->hold && b->who->hold);
  EXPECT_TRUE(a->who->hold->ended());
  EXPECT_FALSE(b->who->hold->ended());
  EXPECT_LT(a->who->hold->token(), b->who->hold->token());
  l->unlock(b);
  c.check_end();
}

TEST_F(lock_object, its_callers_take_turns_with_one_contender_at_a_time) {
  const auto l = c.add(0, kind);
  std::vector<call_pointer> all;
  for (int i = 0; i < 4; ++i) all.push_back(l->lock());
  ASSERT_TRUE(c.granted(all[0]));
  c.finish_pending_work();
  EXPECT_EQ(c.children(path).size(), 1u);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(c.granted(all[i]));
    EXPECT_EQ(i < 3 ? all[i + 1]->completions : 0, 0);
    l->unlock(all[i]);
  }
  c.check_end();
  EXPECT_EQ(l->confirmed(), 4);
}

TEST_F(lock_object, its_next_caller_queues_behind_other_clients) {
  const auto l = c.add(0, kind), m = c.add(1, kind);
  const auto a = holder(l);
  const auto b = l->lock();
  const auto other = m->lock();
  c.world.advance(50ms);
  l->unlock(a);
  ASSERT_TRUE(c.granted(other));
  c.world.advance(50ms);
  EXPECT_EQ(b->completions, 0);
  m->unlock(other);
  ASSERT_TRUE(c.granted(b));
  l->unlock(b);
  c.check_end();
}

TEST_F(lock_object, a_caller_that_gives_up_completes_once) {
  const auto l = c.add(0, kind), m = c.add(1, kind);
  const auto other = holder(m);
  const auto at_server = l->lock();
  const auto local = l->lock();
  const auto behind = l->lock();
  c.world.advance(50ms);
  EXPECT_EQ(c.children(path).size(), 2u);
  l->give_up(local);
  EXPECT_EQ(local->completions, 1);
  EXPECT_EQ(name_of(local->ec), "cancelled");
  l->give_up(local);
  l->give_up(at_server);
  EXPECT_EQ(at_server->completions, 1);
  c.finish_pending_work();
  EXPECT_EQ(c.children(path).size(), 2u);  // the next caller has its own contender
  EXPECT_EQ(behind->completions, 0);
  m->unlock(other);
  ASSERT_TRUE(c.granted(behind));
  l->unlock(behind);
  c.check_end();
  for (const auto& each : l->calls()) EXPECT_EQ(each->completions, 1);
}

TEST_F(lock_object, giving_up_after_the_grant_has_no_effect) {
  const auto l = c.add(0, kind);
  const auto a = holder(l);
  l->give_up(a);
  EXPECT_EQ(a->completions, 1);
  c.finish_pending_work();
  EXPECT_TRUE(a->held());
  l->unlock(a);
  c.check_end();
}

// Gives up after each event before the grant.
TEST_F(lock_object, giving_up_at_any_time_returns_a_hold_or_leaves_no_node) {
  int granted = 0, cancelled = 0;
  for (int k = 0; granted == 0; ++k) {
    SCOPED_TRACE(k);
    lock_test_world one{three_clients()};
    const auto m = one.add(1, kind), l = one.add(0, kind);
    const auto other = m->lock();
    ASSERT_TRUE(one.granted(other));
    const auto a = l->lock();
    const auto b = l->lock();
    one.world.after(20ms, [&] { m->unlock(other); });
    for (int i = 0; i < k; ++i) one.world.step();
    l->give_up(a);
    ASSERT_TRUE(one.completed(a));
    a->ec ? ++cancelled : ++granted;
    if (!a->ec) l->unlock(a);
    if (!other->unlocked) m->unlock(other);
    ASSERT_TRUE(one.granted(b));
    l->unlock(b);
    one.world.advance(30ms);
    one.check_end();
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(cancelled, 5);
}

TEST_F(lock_object, try_lock_fails_while_the_lock_is_held) {
  const auto l = c.add(0, kind), m = c.add(1, kind);
  const auto a = holder(l);
  const auto local = l->try_lock();
  EXPECT_EQ(local->ec, errc::lock_busy);  // at once, without the server
  const auto remote = m->try_lock();
  ASSERT_TRUE(c.completed(remote));
  EXPECT_EQ(remote->ec, errc::lock_busy);
  const auto before = c.world.client(1).traffic();
  const auto again = m->try_lock();
  ASSERT_TRUE(c.completed(again));
  EXPECT_EQ(again->ec, errc::lock_busy);
  // No node is created while the known holder exists.
  EXPECT_EQ((c.world.client(1).traffic() - before).all(), 1);
  l->unlock(a);
  c.finish_pending_work();
  const auto b = m->try_lock();
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
}

TEST_F(lock_object, close_completes_waiting_calls_and_releases_holds) {
  const auto l = c.add(0, kind), m = c.add(1, kind), n = c.add(2, kind);
  const auto a = holder(l);
  const auto b = l->lock();
  const auto d = m->lock();
  c.world.advance(20ms);
  l->close();
  EXPECT_EQ(b->completions, 1);
  EXPECT_EQ(b->ec, errc::closed);
  EXPECT_FALSE(a->held());
  EXPECT_FALSE(a->lost());
  EXPECT_EQ(a->completions, 1);
  ASSERT_TRUE(c.granted(d));
  const auto e = n->lock();
  c.world.advance(20ms);
  n->close();  // while its contender waits
  EXPECT_EQ(e->ec, errc::closed);
  m->unlock(d);
  c.check_end();
}

TEST_F(lock_object, can_be_destroyed_while_its_contender_is_removed) {
  auto l = std::make_shared<recipes::lock_object>(first().shared_from_this(), kind.request,
                                                  std::nullopt, lock_options{});
  const auto who = std::make_shared<recipes::lock_object::caller>();
  int completions = 0;
  who->complete = [&](error_code) { ++completions; };
  {
    const recipes::session_context::scope inside{first()};
    l->acquire(who);
    l->close(errc::closed);
  }
  l.reset();
  c.finish_pending_work();
  EXPECT_EQ(completions, 1);
  EXPECT_TRUE(c.children(path).empty());
}

// --- properties of a hold

TEST_F(lock_object, a_hold_has_a_token_a_node_a_session_and_a_deadline) {
  const auto l = c.add(0, kind);
  EXPECT_EQ(l->hold(role::exclusive), nullptr);
  const auto a = holder(l);
  const auto h = a->hold;
  EXPECT_EQ(h->nodes(), lines{path + "/lock-0000000000"});
  EXPECT_EQ(h->token(), c.world.by_hand().get(h->nodes()[0]).stat.czxid);
  EXPECT_EQ(h->session(), first().machine().session_id());
  EXPECT_GT(h->remaining(), 8s);
  EXPECT_LE(h->remaining(), 9s);
  EXPECT_FALSE(h->suspended());
  l->unlock(a);
  EXPECT_FALSE(a->held());
  EXPECT_EQ(l->hold(role::exclusive), h);  // the latest hold, although it is released
  c.check_end();
  EXPECT_FALSE(h->lost().stop_requested());
  const auto b = holder(l);
  EXPECT_GT(b->hold->token(), h->token());
  EXPECT_EQ(l->hold(role::exclusive), b->hold);
  l->unlock(b);
  c.check_end();
}

TEST_F(lock_object, a_hold_is_suspended_and_restored) {
  const auto l = c.add(0, kind);
  const auto a = holder(l);
  first().disconnect();
  c.world.advance(10us);
  EXPECT_TRUE(a->hold->suspended());
  EXPECT_TRUE(a->held());
  c.finish_pending_work();
  EXPECT_FALSE(a->hold->suspended());
  EXPECT_EQ(l->journal(), (lines{"suspended", "restored"}));
  l->unlock(a);
  c.check_end();
}

TEST_F(lock_object, a_hold_lost_at_its_deadline_must_be_released) {
  const auto l = c.add(0, kind), m = c.add(1, kind);
  const auto a = holder(l);
  const auto b = l->lock();  // waits locally
  const auto other = m->lock();
  c.world.advance(1s);
  first().refuse_connections(true);
  first().disconnect();
  ASSERT_TRUE(c.run_until([&] { return !a->held(); }));
  EXPECT_TRUE(a->lost());
  EXPECT_EQ(l->journal(), (lines{"suspended", "lost deadline_passed"}));
  ASSERT_TRUE(c.granted(other));
  EXPECT_GT(other->completed_at, a->lost_at);
  first().refuse_connections(false);
  c.finish_pending_work();
  EXPECT_EQ(l->journal().size(), 2u);
  EXPECT_EQ(b->completions, 0);  // until the lost hold is released
  l->unlock(a);
  EXPECT_EQ(l->confirmed(), 1);
  m->unlock(other);
  ASSERT_TRUE(c.granted(b));
  EXPECT_NE(b->hold->session(), a->hold->session());
  EXPECT_FALSE(a->held());
  l->unlock(b);
  c.check_end();
}

TEST_F(lock_object, releasing_a_lost_hold_completes_once) {
  const auto l = c.add(0, kind);
  const auto a = holder(l);
  c.world.advance(200ms);
  c.world.by_hand().remove(a->hold->nodes()[0]);
  ASSERT_TRUE(c.lost(a));
  l->unlock(a);
  EXPECT_EQ(l->journal(), lines{"lost node_deleted"});
  c.check_end();
  EXPECT_EQ(l->confirmed(), 1);
  const auto b = holder(l);
  l->unlock(b);
  c.check_end();
}

TEST_F(lock_object, a_loss_callback_may_release_and_lock_again) {
  const auto l = c.add(0, kind);
  const auto a = holder(l);
  call_pointer b;
  a->on_lost = [&] {
    l->unlock(a);
    b = l->lock();
  };
  expire(0);
  ASSERT_TRUE(b);
  ASSERT_TRUE(c.granted(b));
  EXPECT_EQ(l->count("lost deadline_passed"), 1);
  l->unlock(b);
  c.check_end();
}

TEST_F(lock_object, releasing_nothing_completes_at_once) {
  const auto l = c.add(0, kind);
  l->unlock(role::exclusive);
  EXPECT_EQ(l->confirmed(), 1);
}

TEST_F(lock_object, its_hold_is_lost_when_the_client_is_closed) {
  const auto l = c.add(0, kind);
  const auto a = holder(l);
  const auto b = l->lock();
  first().close();
  ASSERT_TRUE(c.lost(a));
  EXPECT_EQ(l->journal(), lines{"lost closed"});
  l->unlock(a);
  ASSERT_TRUE(c.completed(b));
  EXPECT_EQ(b->ec, errc::closed);
}

TEST_F(lock_object, a_revocation_is_reported_once) {
  lock_options o;
  o.on_revocation = [](auto&) {};
  const auto l = c.add(0, kind, o);
  const auto a = holder(l);
  c.world.advance(50ms);
  c.world.by_hand().set(a->hold->nodes()[0], "__REVOKE__");
  c.world.advance(1s);
  EXPECT_EQ(l->journal(), lines{"revocation"});
  l->unlock(a);
  c.check_end();
}

// --- the position in the wait queue

class reported_position : public lock_object {
 protected:
  lock_options counting() {
    lock_options o;
    o.on_enqueued = [](std::size_t) {};
    return o;
  }
};

TEST_F(reported_position, is_reported_once_to_waiters) {
  const auto l = c.add(0, kind, counting()), m = c.add(1, kind, counting());
  const auto a = holder(l);
  EXPECT_EQ(l->journal(), lines{});
  const auto b = m->lock();
  c.finish_pending_work();
  EXPECT_EQ(m->journal(), lines{"enqueued 1"});
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
  EXPECT_EQ(m->journal().size(), 1u);
}

TEST_F(reported_position, is_reported_once_although_the_session_expired) {
  const auto l = c.add(1, kind), m = c.add(0, kind, counting());
  const auto a = holder(l);
  const auto b = m->lock();
  c.world.advance(100ms);
  expire(0);
  c.finish_pending_work();
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  EXPECT_EQ(m->journal(), lines{"enqueued 1"});
  m->unlock(b);
  c.check_end();
}

TEST_F(reported_position, is_reported_once_for_several_paths) {
  const auto l = c.add(0, a_mutex({"/locks/a"})), n = c.add(2, a_mutex({"/locks/b"}));
  const auto m = c.add(1, a_mutex({"/locks/a", "/locks/b"}), counting());
  const auto a = holder(l), b = holder(n);
  const auto d = m->lock();
  c.finish_pending_work();
  l->unlock(a);
  c.finish_pending_work();
  n->unlock(b);
  ASSERT_TRUE(c.granted(d));
  EXPECT_EQ(m->journal(), lines{"enqueued 1"});
  m->unlock(d);
  c.check_end();
}

TEST_F(reported_position, is_reported_for_a_permit) {
  const auto k = a_semaphore("/locks/permits", 1);
  const auto l = c.add(0, k), m = c.add(1, k), n = c.add(2, k, counting());
  const auto a = holder(l);
  const auto b = m->lock();
  c.finish_pending_work();
  const auto d = n->lock();
  c.finish_pending_work();
  EXPECT_EQ(n->journal().size(), 1u);
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  ASSERT_TRUE(c.granted(d));
  n->unlock(d);
  c.check_end();
}

}  // namespace
}  // namespace conclave::simulated
