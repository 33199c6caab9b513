// Readers share the lock, writers hold it alone, and all are granted in order.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_test_world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

class readers_writers : public testing::Test {
 protected:
  lock_test_world c{{.clients = 6}};
  const std::string path = "/locks/one";
  const lock_kind kind = a_shared_mutex(path);
  direct_client& by_hand() { return c.world.by_hand(); }
  void SetUp() override {
    by_hand().create("/locks");
    by_hand().create(path);
  }
  struct caller {
    locker_pointer l;
    call_pointer a;
    bool holds() const { return a->holding(); }
    void release() const { l->unlock(a); }
  };
  caller enter(std::size_t client, role as) {
    const auto l = c.add(client, kind);
    caller o{l, l->lock(as)};
    c.world.advance(20ms);
    return o;
  }
  caller reader(std::size_t client) { return enter(client, role::reader); }
  caller writer(std::size_t client) { return enter(client, role::writer); }
};

TEST_F(readers_writers, readers_share_the_lock_and_writers_hold_it_alone_in_order) {
  const auto r1 = reader(0), r2 = reader(1), w1 = writer(2), r3 = reader(3), r4 = reader(4),
             w2 = writer(5);
  EXPECT_TRUE(r1.holds() && r2.holds());
  EXPECT_FALSE(w1.holds() || r3.holds() || r4.holds() ||
               w2.holds());  // no reader overtakes the writer
  r1.release();
  c.finish_pending_work();
  EXPECT_FALSE(w1.holds());
  r2.release();
  c.finish_pending_work();
  EXPECT_TRUE(w1.holds());
  EXPECT_FALSE(r3.holds() || r4.holds());
  w1.release();
  c.finish_pending_work();
  EXPECT_TRUE(r3.holds() && r4.holds());
  EXPECT_FALSE(w2.holds());
  r4.release();
  r3.release();
  ASSERT_TRUE(c.granted(w2.a));
  w2.release();
  c.check_end();
}

TEST_F(readers_writers, readers_that_arrive_later_do_not_delay_a_writer) {
  auto r = reader(0);
  const auto w = writer(1);
  std::vector<caller> behind;
  for (std::size_t i = 0; i < 20; ++i) behind.push_back(reader(2 + i % 4));
  r.release();
  ASSERT_TRUE(c.granted(w.a));
  for (const auto& b : behind) EXPECT_FALSE(b.holds());
  w.release();
  for (const auto& b : behind) {
    ASSERT_TRUE(c.granted(b.a));
    b.release();
  }
  c.check_end();
}

TEST_F(readers_writers, a_waiter_that_leaves_grants_nothing_too_early) {
  const auto w1 = writer(0), w2 = writer(1), r1 = reader(2), w3 = writer(3), r2 = reader(4);
  c.world.client(1).close();
  c.finish_pending_work();
  EXPECT_FALSE(r1.holds() || w3.holds() || r2.holds());
  w3.l->give_up(w3.a);
  c.finish_pending_work();
  EXPECT_FALSE(r1.holds() || r2.holds());
  w1.release();
  c.finish_pending_work();
  EXPECT_TRUE(r1.holds() && r2.holds());
  r1.release();
  r2.release();
  c.check_end();
  EXPECT_EQ(w2.a->completions, 1);
}

TEST_F(readers_writers, a_reader_that_releases_wakes_no_reader) {
  std::vector<caller> in;
  for (std::size_t i = 0; i < 12; ++i) in.push_back(reader(i % 6));
  const auto w = writer(0);
  std::vector<caller> behind;
  for (std::size_t i = 0; i < 12; ++i) behind.push_back(reader(i % 6));
  c.finish_pending_work();
  const auto sum = [&] {
    int requests = 0, events = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      requests += c.world.client(i).traffic().all();
      events += c.world.client(i).traffic().events;
    }
    return std::pair{requests, events};
  };
  // A reader in the middle: its release and the event of its own watch.
  auto before = sum();
  in[5].release();
  c.world.advance(50ms);
  EXPECT_LE(sum().first - before.first, 2);
  EXPECT_LE(sum().second - before.second, 1);
  // The writer's predecessor: the writer looks for its new predecessor.
  before = sum();
  in[11].release();
  c.world.advance(50ms);
  EXPECT_LE(sum().first - before.first, 5);
  EXPECT_LE(sum().second - before.second, 2);
  for (std::size_t i = 0; i < 11; ++i)
    if (i != 5) in[i].release();
  ASSERT_TRUE(c.granted(w.a));
  c.finish_pending_work();
  // The writer's release grants all readers: at most one event and one request each.
  before = sum();
  w.release();
  for (const auto& b : behind) ASSERT_TRUE(c.granted(b.a));
  EXPECT_LE(sum().first - before.first, 1 + 12);
  EXPECT_LE(sum().second - before.second, 12 + 1);
  for (const auto& b : behind) b.release();
  c.check_end();
}

TEST_F(readers_writers, readers_of_one_object_share_the_lock_and_writers_take_turns) {
  const auto l = c.add(0, kind);
  const auto r1 = l->lock(role::reader), r2 = l->lock(role::reader);
  ASSERT_TRUE(c.granted(r1) && c.granted(r2));
  EXPECT_EQ(c.children(path).size(), 2u);
  const auto w1 = l->lock(role::writer), w2 = l->lock(role::writer);
  c.finish_pending_work();
  EXPECT_EQ(c.children(path).size(), 3u);
  l->unlock(r1);
  l->unlock(r2);
  ASSERT_TRUE(c.granted(w1));
  EXPECT_EQ(l->hold(role::writer), w1->hold);
  EXPECT_NE(l->hold(role::reader), w1->hold);
  l->unlock(w1);
  ASSERT_TRUE(c.granted(w2));
  l->unlock(w2);
  c.check_end();
}

TEST_F(readers_writers, try_lock_leaves_no_node) {
  const auto r = reader(0);
  const auto l = c.add(1, kind), m = c.add(2, kind);
  const auto w = l->try_lock(role::writer);
  ASSERT_TRUE(c.completed(w));
  EXPECT_EQ(w->ec, errc::lock_busy);
  const auto r2 = l->try_lock(role::reader);
  ASSERT_TRUE(c.granted(r2));
  c.world.advance(20ms);
  EXPECT_EQ(c.children(path).size(), 2u);
  r.release();
  l->unlock(r2);
  const auto w2 = m->try_lock(role::writer);
  ASSERT_TRUE(c.granted(w2));
  const auto r3 = l->try_lock(role::reader);
  ASSERT_TRUE(c.completed(r3));
  EXPECT_EQ(r3->ec, errc::lock_busy);
  m->unlock(w2);
  c.check_end();
}

TEST_F(readers_writers, kazoo_writers_are_named_like_exclusive_contenders) {
  auto k = kind;
  k.request.layout = layout::kazoo();
  const auto l = c.add(0, k), m = c.add(1, k), n = c.add(2, k);
  const auto w = l->lock(role::writer);
  ASSERT_TRUE(c.granted(w));
  const auto r = m->lock(role::reader);
  direct_client kazoo{c.world.server()};
  c.world.advance(20ms);
  kazoo.create_sequential(path + "/0123456789abcdef0123456789abcdef__lock__");
  const auto r2 = n->lock(role::reader);
  c.finish_pending_work();
  l->unlock(w);
  ASSERT_TRUE(c.granted(r));
  c.finish_pending_work();
  EXPECT_EQ(r2->completions, 0);
  kazoo.end();
  ASSERT_TRUE(c.granted(r2));
  m->unlock(r);
  n->unlock(r2);
  c.check_end();
}

// A mutex and readers can share one path.
TEST_F(readers_writers, a_mutex_waits_for_readers_in_the_kazoo_layout) {
  auto shared = kind, exclusive = a_mutex({path});
  shared.request.layout = exclusive.request.layout = layout::kazoo();
  const auto l = c.add(0, exclusive), m = c.add(1, shared), n = c.add(2, exclusive),
             o = c.add(3, shared);
  for (int round = 0; round < 3; ++round) {
    const auto first = l->lock(role::exclusive);
    ASSERT_TRUE(c.granted(first));
    const auto reading = m->lock(role::reader);
    c.world.advance(20ms);
    const auto second = n->lock(role::exclusive);
    c.world.advance(20ms);
    const auto also_reading = o->lock(role::reader);
    c.finish_pending_work();
    EXPECT_EQ(reading->completions, 0);
    l->unlock(first);
    ASSERT_TRUE(c.granted(reading));
    c.finish_pending_work();
    EXPECT_EQ(second->completions, 0);
    m->unlock(reading);
    ASSERT_TRUE(c.granted(second));
    c.finish_pending_work();
    EXPECT_EQ(also_reading->completions, 0);
    n->unlock(second);
    ASSERT_TRUE(c.granted(also_reading));
    o->unlock(also_reading);
    c.finish_pending_work();
  }
  c.check_end();
}

}  // namespace
}  // namespace conclave::simulated
