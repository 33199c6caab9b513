// Locks that stay with their lock object after unlock(): lock_options::keep_for and local_handoffs.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lock_test_world.hpp"
#include "recipes/local_lock.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

world_options two_clients() {
  world_options o;
  o.clients = 2;
  o.session_timeout = 10s;
  o.connect_wait = 10min;
  return o;
}

class kept_lock : public testing::Test {
 protected:
  lock_test_world c{two_clients()};
  const std::string path = "/locks/one";
  const lock_kind kind = a_mutex({path});

  void SetUp() override {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(path);
  }
  static lock_options keeping(std::chrono::nanoseconds time = 5s, std::size_t handoffs = 0) {
    lock_options o;
    o.keep_for = time;
    o.local_handoffs = handoffs;
    return o;
  }
  call_pointer locked(const locker_pointer& l) {
    const auto a = l->lock();
    EXPECT_TRUE(c.granted(a));
    return a;
  }
  // Returns a lock object that keeps the lock.
  locker_pointer kept(lock_options o = keeping()) {
    const auto l = c.add(0, kind, std::move(o));
    const auto a = locked(l);
    c.world.advance(50ms);  // the check for other contenders is answered
    l->unlock(a);
    c.world.advance(300ms);
    EXPECT_EQ(c.children(path).size(), 1u);
    return l;
  }
  client& owner() { return c.world.client(0); }
};

TEST_F(kept_lock, is_granted_again_without_a_request) {
  const auto l = kept();
  const auto token = l->calls()[0]->hold->token();
  const auto before = owner().traffic();
  for (int i = 0; i < 10; ++i) {
    const auto a = i % 2 == 0 ? l->lock() : l->lock_locally();
    ASSERT_TRUE(a);
    ASSERT_EQ(a->completions, 1);
    EXPECT_TRUE(a->held());
    EXPECT_EQ(a->hold->token(), token);
    l->unlock(a);
    EXPECT_EQ(a->hold->ended(), !a->without_mutex);
  }
  EXPECT_EQ((owner().traffic() - before).all(), 0);
  l->close();
  c.check_end();
}

TEST_F(kept_lock, a_lock_without_the_option_is_not_kept) {
  const auto l = c.add(0, kind);
  l->unlock(locked(l));
  c.world.advance(300ms);
  EXPECT_TRUE(c.children(path).empty());
  EXPECT_FALSE(l->lock_locally());
}

TEST_F(kept_lock, a_call_before_the_check_is_answered_waits_for_it) {
  const auto l = c.add(0, kind, keeping());
  l->unlock(locked(l));
  const auto a = l->lock();
  EXPECT_EQ(a->completions, 0);
  ASSERT_TRUE(c.granted(a));
  EXPECT_TRUE(a->local);
  l->unlock(a);
  l->close();
  c.check_end();
}

TEST_F(kept_lock, is_released_when_it_was_idle_for_the_time) {
  const auto l = kept(keeping(2s));
  c.world.advance(1500ms);
  const auto a = l->lock_locally();
  ASSERT_TRUE(a);
  c.world.advance(3s);  // a lock in use is not idle
  ASSERT_TRUE(a->held());
  l->unlock(a);
  c.world.advance(1900ms);
  EXPECT_EQ(c.children(path).size(), 1u);
  c.world.advance(200ms);
  EXPECT_TRUE(c.children(path).empty());
  EXPECT_FALSE(l->lock_locally());
  c.check_end();
}

TEST_F(kept_lock, is_released_at_once_for_another_contender) {
  const auto l = kept();
  const auto other = c.add(1, kind);
  const auto begun = c.world.now();
  const auto b = other->lock();
  ASSERT_TRUE(c.granted(b));
  EXPECT_LT(c.world.now() - begun, 100ms);
  EXPECT_FALSE(l->lock_locally());
  other->unlock(b);
  c.check_end();
}

TEST_F(kept_lock, in_use_is_released_by_unlock_if_another_contender_waits) {
  for (const bool without_mutex : {false, true}) {
    const auto l = kept();
    const auto a = without_mutex ? l->lock_locally() : l->lock();
    ASSERT_TRUE(a);
    const auto other = c.add(1, kind);
    const auto b = other->lock();
    c.world.advance(1s);
    EXPECT_EQ(b->completions, 0);
    EXPECT_TRUE(a->held());
    l->unlock(a);
    ASSERT_TRUE(c.granted(b));
    EXPECT_GT(b->hold->token(), a->hold->token());
    other->unlock(b);
    c.check_end();
  }
}

TEST_F(kept_lock, is_not_kept_if_another_contender_waits) {
  const auto l = c.add(0, kind, keeping());
  const auto a = locked(l);
  const auto other = c.add(1, kind);
  const auto b = other->lock();
  c.world.advance(50ms);
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  other->unlock(b);
  c.check_end();
}

TEST_F(kept_lock, local_callers_go_first_as_often_as_allowed) {
  const auto l = c.add(0, kind, keeping(5s, 2));
  const auto first = locked(l);
  std::vector<call_pointer> local;
  for (int i = 0; i < 4; ++i) local.push_back(l->lock());
  const auto other = c.add(1, kind);
  const auto b = other->lock();
  c.world.advance(50ms);
  l->unlock(first);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(local[i]->completions, 1) << i;
    l->unlock(local[i]);
  }
  EXPECT_EQ(local[2]->completions, 0);
  ASSERT_TRUE(c.granted(b));
  EXPECT_EQ(local[2]->completions, 0);
  other->unlock(b);
  for (int i = 2; i < 4; ++i) {
    ASSERT_TRUE(c.granted(local[i]));
    l->unlock(local[i]);
  }
  l->close();
  c.check_end();
}

TEST_F(kept_lock, is_not_granted_while_the_connection_is_lost) {
  const auto l = kept();
  owner().refuse_connections(true);
  owner().disconnect();
  c.world.advance(100ms);
  EXPECT_FALSE(l->lock_locally());
  owner().refuse_connections(false);
  c.world.advance(3s);
  const auto a = l->lock_locally();  // restored: the node was verified
  ASSERT_TRUE(a);
  l->unlock(a);
  l->close();
  c.check_end();
}

TEST_F(kept_lock, a_call_without_a_connection_starts_again) {
  const auto l = kept();
  owner().refuse_connections(true);
  owner().disconnect();
  c.world.advance(100ms);
  const auto a = l->lock();
  c.world.advance(100ms);
  EXPECT_EQ(a->completions, 0);
  owner().refuse_connections(false);
  ASSERT_TRUE(c.granted(a));
  EXPECT_FALSE(a->local);
  l->unlock(a);
  l->close();
  c.check_end();
}

TEST_F(kept_lock, a_contender_that_came_during_a_lost_connection_is_found) {
  const auto l = kept();
  owner().refuse_connections(true);
  owner().disconnect();
  c.world.advance(100ms);
  const auto other = c.add(1, kind);
  const auto b = other->lock();
  c.world.advance(100ms);
  owner().refuse_connections(false);
  ASSERT_TRUE(c.granted(b));
  EXPECT_FALSE(l->lock_locally());
  other->unlock(b);
  c.check_end();
}

// The next connection is lost, too, after each of its first frames. Setting the two watches of the
// kept lock again takes two of its requests.
TEST_F(kept_lock, a_contender_that_came_before_another_lost_connection_is_found) {
  owner().machine().limit_set_watches(1);
  for (std::size_t frames = 1; frames < 8; ++frames) {
    SCOPED_TRACE(frames);
    const auto l = kept(keeping(1min));
    owner().refuse_connections(true);
    owner().disconnect();
    c.world.advance(100ms);
    const auto other = c.add(1, kind);
    const auto b = other->lock();
    c.world.advance(100ms);
    owner().disconnect_after_frames(direction::down, frames);
    owner().refuse_connections(false);
    ASSERT_TRUE(c.world.run_until([&] { return b->granted(); }, 5s));
    owner().forget_fault();
    other->unlock(b);
    l->close();
    other->close();
    c.check_end();
  }
}

TEST_F(kept_lock, is_not_granted_after_the_deadline) {
  const auto l = kept();
  owner().pause();
  c.world.advance(30s);
  // The process continues, but has received nothing yet.
  EXPECT_FALSE(l->lock_locally());
  owner().resume();
  c.check_end();
  EXPECT_EQ(l->count("lost session_expired") + l->count("lost deadline_passed"), 0);
}

TEST_F(kept_lock, the_loss_of_a_local_hold_is_reported_once) {
  for (const bool without_mutex : {false, true}) {
    const auto l = kept();
    const auto a = without_mutex ? l->lock_locally() : l->lock();
    ASSERT_TRUE(a);
    owner().refuse_connections(true);
    owner().disconnect();
    c.world.advance(30s);
    EXPECT_TRUE(a->lost());
    EXPECT_EQ(l->count("lost deadline_passed"), 1);
    EXPECT_FALSE(l->lock_locally());
    owner().refuse_connections(false);
    c.world.advance(5s);
    l->unlock(a);
    const auto again = locked(l);
    EXPECT_FALSE(again->local);
    l->unlock(again);
    l->close();
    c.check_end();
  }
}

TEST_F(kept_lock, is_released_on_revocation) {
  const auto l = kept();
  const auto node = l->calls()[0]->hold->nodes()[0];
  c.world.by_hand().set(node, "__REVOKE__");
  c.world.advance(300ms);
  EXPECT_TRUE(c.children(path).empty());
  c.check_end();
}

TEST_F(kept_lock, in_use_is_not_kept_after_a_revocation) {
  auto o = keeping();
  o.on_revocation = [](auto&) {};
  const auto l = kept(o);
  const auto a = l->lock();
  c.world.by_hand().set(a->hold->nodes()[0], "__REVOKE__");
  c.world.advance(300ms);
  EXPECT_EQ(l->count("revocation"), 1);
  EXPECT_TRUE(a->held());
  l->unlock(a);
  c.world.advance(300ms);
  EXPECT_TRUE(c.children(path).empty());
  c.check_end();
}

TEST_F(kept_lock, try_lock_does_not_wait_for_a_caller_that_waited_for_the_check) {
  const auto l = c.add(0, kind, keeping());
  l->unlock(locked(l));
  const auto a = l->lock(), b = l->try_lock();
  ASSERT_TRUE(c.granted(a));
  c.world.advance(100ms);
  EXPECT_EQ(b->completions, 1);
  EXPECT_EQ(b->ec, errc::lock_busy);
  l->unlock(a);
  l->close();
  c.check_end();
}

TEST_F(kept_lock, is_gone_if_its_node_is_deleted_by_hand) {
  const auto l = kept();
  c.judge->note_deletion(l->calls()[0]->hold->nodes()[0],
                         c.world.by_hand().get(l->calls()[0]->hold->nodes()[0]).stat, true);
  c.world.by_hand().remove(l->calls()[0]->hold->nodes()[0]);
  c.world.advance(300ms);
  EXPECT_FALSE(l->lock_locally());
  const auto a = locked(l);
  l->unlock(a);
  l->close();
  c.check_end();
}

TEST_F(kept_lock, a_reader_of_the_same_object_makes_the_writer_leave) {
  const auto l = c.add(0, a_shared_mutex(path), keeping());
  const auto w = l->lock(role::writer);
  ASSERT_TRUE(c.granted(w));
  c.world.advance(50ms);
  l->unlock(w);
  c.world.advance(300ms);
  const auto r = l->lock(role::reader);
  ASSERT_TRUE(c.granted(r));
  l->unlock(r);
  c.check_end();
}

TEST_F(kept_lock, several_paths_are_kept_together) {
  const auto l = c.add(0, a_mutex({path, "/locks/two"}), keeping());
  const auto a = locked(l);
  c.world.advance(50ms);
  l->unlock(a);
  ASSERT_TRUE(l->lock_locally());
  l->unlock(l->calls().back());
  const auto other = c.add(1, a_mutex({"/locks/two"}));
  const auto b = other->lock();
  ASSERT_TRUE(c.granted(b));
  EXPECT_TRUE(c.children(path).empty());
  other->unlock(b);
  c.check_end();
}

// A guard that was released late must not end the hold of the next local caller, which has the same
// token.
TEST_F(kept_lock, an_old_hold_does_not_release_a_newer_one) {
  const auto l = kept();
  const auto a = l->lock();
  const auto old = a->hold;
  l->unlock(a);
  const auto b = l->lock();
  {
    const recipes::session_context::scope inside{owner()};
    l->object().release_hold(*old);
  }
  EXPECT_TRUE(b->held());
  l->unlock(b);
  l->close();
  c.check_end();
}

TEST_F(kept_lock, callbacks_of_each_local_hold_run) {
  auto o = keeping();
  int acquired = 0, released = 0;
  o.on_acquired = [&](const conclave::hold& h) { acquired += h.held(); };
  o.on_released = [&](const conclave::hold& h) { released += !h.held(); };
  const auto l = kept(o);
  EXPECT_FALSE(l->lock_locally());
  for (int i = 0; i < 3; ++i) l->unlock(locked(l));
  EXPECT_EQ(acquired, 4);
  EXPECT_EQ(released, 4);
  l->close();
  EXPECT_EQ(released, 4);
  c.check_end();
}

// A thread has released the lock and not yet called what its scope has posted. Another thread is
// granted the lock meanwhile.
TEST_F(kept_lock, callbacks_run_in_the_order_of_the_events) {
  using recipes::session_context;
  auto o = keeping();
  std::string events;
  o.on_acquired = [&](const conclave::hold&) { events += "acquired "; };
  o.on_released = [&](const conclave::hold&) { events += "released "; };
  const auto l = std::make_shared<recipes::lock_object>(owner().shared_from_this(), kind.request,
                                                        kind.admission, o);
  const auto acquire = [&] {
    const auto who = std::make_shared<recipes::lock_object::caller>();
    who->complete = [](error_code ec) { EXPECT_FALSE(ec); };
    const session_context::scope inside{owner()};
    l->acquire(who);
  };
  acquire();
  c.world.advance(50ms);
  EXPECT_EQ(events, "acquired ");
  std::vector<std::function<void()>> posted;
  {
    session_context::scope inside{owner()};
    l->release(role::exclusive);
    posted = inside.end();
  }
  acquire();
  for (const auto& f : posted) f();
  EXPECT_EQ(events, "acquired released acquired ");
  {
    const session_context::scope inside{owner()};
    l->close({});
  }
  EXPECT_EQ(events, "acquired released acquired released ");
  c.check_end();
}

// At every frame of a keep, a local grant and a recall.
TEST_F(kept_lock, survives_a_lost_connection_after_every_frame) {
  for (const auto d : {direction::up, direction::down})
    for (std::size_t n = 0; n < 12; ++n) {
      const auto l = c.add(0, kind, keeping());
      const auto other = c.add(1, kind);
      owner().disconnect_after_frames(d, n);
      const auto a = locked(l);
      c.world.advance(20ms);
      l->unlock(a);
      const auto again = locked(l);
      c.world.advance(20ms);
      const auto b = other->lock();
      c.world.advance(20ms);
      l->unlock(again);
      ASSERT_TRUE(c.granted(b)) << n;
      other->unlock(b);
      ASSERT_TRUE(c.granted(l->lock())) << n;
      l->unlock(l->calls().back());
      l->close();
      c.check_end();
      owner().disconnect();
      c.world.advance(5s);
    }
}

// release() wakes one of several threads that sleep. If close() follows at once, that thread finds
// the lock closed, and close() must wake the others. The threads share ownership, so that a failed
// test can leave them behind.
TEST(local_lock, close_wakes_every_thread_that_sleeps) {
  struct shared {
    recipes::local_lock lock;
    std::atomic<int> done{0};
  };
  constexpr int threads = 3;
  for (int round = 0; round < 10; ++round) {
    const auto s = std::make_shared<shared>();
    s->lock.open();
    ASSERT_TRUE(s->lock.try_acquire());
    for (int i = 0; i < threads; ++i)
      std::thread{[s] {
        static_cast<void>(s->lock.acquire());
        ++s->done;
      }}.detach();
    std::this_thread::sleep_for(10ms);  // the threads sleep, or the round shows nothing
    ASSERT_TRUE(s->lock.release(0ns));
    static_cast<void>(s->lock.close());
    const auto limit = std::chrono::steady_clock::now() + 10s;
    while (s->done < threads && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(1ms);
    ASSERT_EQ(s->done, threads) << "a thread sleeps forever";
  }
}

}  // namespace
}  // namespace conclave::simulated
