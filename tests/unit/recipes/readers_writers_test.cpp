// Readers together, writers alone, in the order of their coming; and a writer that becomes a
// reader.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_contest.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

class readers_writers : public testing::Test {
 protected:
  lock_contest c{{.clients = 6}};
  const std::string path = "/locks/one";
  const lock_kind kind = a_shared_mutex(path);
  hand& by_hand() { return c.world.by_hand(); }
  void SetUp() override {
    by_hand().create("/locks");
    by_hand().create(path);
  }
  struct one {
    locker_pointer l;
    call_pointer a;
    bool in() const { return a->holding(); }
    void out() const { l->unlock(a); }
  };
  one comes(std::size_t client, role as) {
    const auto l = c.add(client, kind);
    one o{l, l->lock(as)};
    c.world.advance(20ms);
    return o;
  }
  one reader(std::size_t client) { return comes(client, role::reader); }
  one writer(std::size_t client) { return comes(client, role::writer); }
};

TEST_F(readers_writers, readers_together_and_a_writer_alone_in_order) {
  const auto r1 = reader(0), r2 = reader(1), w1 = writer(2), r3 = reader(3), r4 = reader(4),
             w2 = writer(5);
  EXPECT_TRUE(r1.in() && r2.in());
  EXPECT_FALSE(w1.in() || r3.in() || r4.in() || w2.in());  // nobody overtakes the writer
  r1.out();
  c.quieten();
  EXPECT_FALSE(w1.in());
  r2.out();
  c.quieten();
  EXPECT_TRUE(w1.in());
  EXPECT_FALSE(r3.in() || r4.in());
  w1.out();
  c.quieten();
  EXPECT_TRUE(r3.in() && r4.in());
  EXPECT_FALSE(w2.in());
  r4.out();
  r3.out();
  ASSERT_TRUE(c.granted(w2.a));
  w2.out();
  c.check_end();
}

TEST_F(readers_writers, a_writer_does_not_starve_though_readers_never_stop_coming) {
  auto r = reader(0);
  const auto w = writer(1);
  std::vector<one> behind;
  for (std::size_t i = 0; i < 20; ++i) behind.push_back(reader(2 + i % 4));
  r.out();
  ASSERT_TRUE(c.granted(w.a));
  for (const auto& b : behind) EXPECT_FALSE(b.in());
  w.out();
  for (const auto& b : behind) {
    ASSERT_TRUE(c.granted(b.a));
    b.out();
  }
  c.check_end();
}

TEST_F(readers_writers, those_who_go_in_the_middle_let_nobody_in_too_early) {
  const auto w1 = writer(0), w2 = writer(1), r1 = reader(2), w3 = writer(3), r2 = reader(4);
  c.world.client(1).close();  // dead
  c.quieten();
  EXPECT_FALSE(r1.in() || w3.in() || r2.in());
  w3.l->give_up(w3.a);
  c.quieten();
  EXPECT_FALSE(r1.in() || r2.in());
  w1.out();
  c.quieten();
  EXPECT_TRUE(r1.in() && r2.in());
  r1.out();
  r2.out();
  c.check_end();
  EXPECT_EQ(w2.a->told, 1);
}

TEST_F(readers_writers, a_reader_that_goes_wakes_no_reader) {
  std::vector<one> in;
  for (std::size_t i = 0; i < 12; ++i) in.push_back(reader(i % 6));
  const auto w = writer(0);
  std::vector<one> behind;
  for (std::size_t i = 0; i < 12; ++i) behind.push_back(reader(i % 6));
  c.quieten();
  const auto sum = [&] {
    int requests = 0, events = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      requests += c.world.client(i).traffic().all();
      events += c.world.client(i).traffic().events;
    }
    return std::pair{requests, events};
  };
  // One in the middle: its own release, and the event of its own watch.
  auto before = sum();
  in[5].out();
  c.world.advance(50ms);
  EXPECT_LE(sum().first - before.first, 2);
  EXPECT_LE(sum().second - before.second, 1);
  // The last one before the writer: it looks for the next one before it.
  before = sum();
  in[11].out();
  c.world.advance(50ms);
  EXPECT_LE(sum().first - before.first, 5);
  EXPECT_LE(sum().second - before.second, 2);
  for (std::size_t i = 0; i < 11; ++i)
    if (i != 5) in[i].out();
  ASSERT_TRUE(c.granted(w.a));
  c.quieten();
  // The writer lets all of them in: an event and a list for each, and nothing more.
  before = sum();
  w.out();
  for (const auto& b : behind) ASSERT_TRUE(c.granted(b.a));
  EXPECT_LE(sum().first - before.first, 1 + 12);
  EXPECT_LE(sum().second - before.second, 12 + 1);
  for (const auto& b : behind) b.out();
  c.check_end();
}

TEST_F(readers_writers, of_one_object_readers_share_it_and_writers_take_turns) {
  const auto l = c.add(0, kind);
  const auto r1 = l->lock(role::reader), r2 = l->lock(role::reader);
  ASSERT_TRUE(c.granted(r1) && c.granted(r2));
  EXPECT_EQ(c.children(path).size(), 2u);
  const auto w1 = l->lock(role::writer), w2 = l->lock(role::writer);
  c.quieten();
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

TEST_F(readers_writers, one_that_is_not_patient_never_stays) {
  const auto r = reader(0);
  const auto l = c.add(1, kind), m = c.add(2, kind);
  const auto w = l->try_lock(role::writer);
  ASSERT_TRUE(c.told(w));
  EXPECT_EQ(w->ec, errc::lock_busy);
  const auto r2 = l->try_lock(role::reader);
  ASSERT_TRUE(c.granted(r2));
  c.world.advance(20ms);
  EXPECT_EQ(c.children(path).size(), 2u);
  r.out();
  l->unlock(r2);
  const auto w2 = m->try_lock(role::writer);
  ASSERT_TRUE(c.granted(w2));
  const auto r3 = l->try_lock(role::reader);
  ASSERT_TRUE(c.told(r3));
  EXPECT_EQ(r3->ec, errc::lock_busy);
  m->unlock(w2);
  c.check_end();
}

TEST_F(readers_writers, kazoos_writers_are_named_like_exclusive_ones) {
  auto k = kind;
  k.request.layout = layout::kazoo();
  const auto l = c.add(0, k), m = c.add(1, k), n = c.add(2, k);
  const auto w = l->lock(role::writer);
  ASSERT_TRUE(c.granted(w));
  const auto r = m->lock(role::reader);
  hand kazoo{c.world.server()};
  c.world.advance(20ms);
  kazoo.create_numbered(path + "/0123456789abcdef0123456789abcdef__lock__");
  const auto r2 = n->lock(role::reader);
  c.quieten();
  l->unlock(w);
  ASSERT_TRUE(c.granted(r));
  c.quieten();
  EXPECT_EQ(r2->told, 0);
  kazoo.end();
  ASSERT_TRUE(c.granted(r2));
  m->unlock(r);
  n->unlock(r2);
  c.check_end();
}

// So a mutex and readers can share one path: decision 10.
TEST_F(readers_writers, where_writers_are_named_like_exclusive_ones_a_mutex_waits_for_readers) {
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
    c.quieten();
    EXPECT_EQ(reading->told, 0);
    l->unlock(first);
    ASSERT_TRUE(c.granted(reading));
    c.quieten();
    EXPECT_EQ(second->told, 0);
    m->unlock(reading);
    ASSERT_TRUE(c.granted(second));
    c.quieten();
    EXPECT_EQ(also_reading->told, 0);
    n->unlock(second);
    ASSERT_TRUE(c.granted(also_reading));
    o->unlock(also_reading);
    c.quieten();
  }
  c.check_end();
}

}  // namespace
}  // namespace conclave::simulated
