// Mutexes, readers and writers on one path: one wait queue, in which a deletion is a grant only if
// the deleted contender cannot have become a reader.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_contest.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

const std::string lock_path = "/locks/one", other_path = "/locks/two";

class one_wait_queue : public testing::TestWithParam<bool> {
 protected:
  lock_contest c{{.clients = 6}};
  lock_options options;
  layout names = layout::kazoo();
  one_wait_queue() { options.tickets = GetParam(); }
  void SetUp() override {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(lock_path);
    c.world.by_hand().create(other_path);
  }
  struct one {
    locker_pointer l;
    call_pointer a;
    bool in() const { return a->holding(); }
    void out() const { l->unlock(a); }
  };
  one comes(std::size_t client, lock_kind kind, role as) {
    kind.request.layout = names;
    const auto l = c.add(client, kind, options);
    one o{l, l->lock(as)};
    c.world.advance(20ms);
    return o;
  }
  one a_mutex_of(std::size_t client) {
    return comes(client, a_mutex({lock_path}), role::exclusive);
  }
  one several(std::size_t client) {
    return comes(client, a_mutex({lock_path, other_path}), role::exclusive);
  }
  one reader(std::size_t client) { return comes(client, a_shared_mutex(lock_path), role::reader); }
  one writer(std::size_t client) { return comes(client, a_shared_mutex(lock_path), role::writer); }
  void downgrade(const one& w) {
    w.l->downgrade(w.a);
    ASSERT_TRUE(c.run_until([&] { return !w.l->downgrades().empty(); }));
    ASSERT_FALSE(w.l->downgrades()[0]);
  }
  void begin_anew() {
    for (const auto& p : {lock_path, other_path}) {
      c.world.by_hand().remove(p);
      c.world.by_hand().create(p);
    }
  }
  // S is written: whoever comes with the next ticket but one knows that all before its predecessor
  // are gone.
  void a_ticket_is_served() {
    const auto m = a_mutex_of(5);
    ASSERT_TRUE(m.in());
    m.out();
    c.quieten();
  }
};
INSTANTIATE_TEST_SUITE_P(tickets, one_wait_queue, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(one_wait_queue, a_mutex_behind_a_writer_waits_for_the_reader_that_it_becomes) {
  for (const auto& l : {layout::kazoo(), layout::curator(), layout::zookeeper()})
    for (const bool served : {false, true})
      for (const bool of_several : {false, true}) {
        SCOPED_TRACE(l.name() + std::string{" served "} + (served ? "1" : "0") + " several " +
                     (of_several ? "1" : "0"));
        names = l;
        begin_anew();
        if (served) a_ticket_is_served();
        const auto w = writer(0);
        ASSERT_TRUE(w.in());
        const auto m = of_several ? several(1) : a_mutex_of(1);
        const auto behind = a_mutex_of(2);
        c.quieten();
        downgrade(w);
        c.quieten();
        EXPECT_EQ(m.a->told, 0);
        w.out();
        ASSERT_TRUE(c.granted(m.a));
        m.out();
        ASSERT_TRUE(c.granted(behind.a));
        behind.out();
        c.quieten();
      }
  c.check_end();
}

// The downgrade happens between the mutex's look at the wait queue and its watch.
TEST_P(one_wait_queue, a_downgrade_at_any_moment_of_a_mutex_that_comes_grants_nothing) {
  for (int delay = 0; delay < 30; ++delay) {
    a_ticket_is_served();
    const auto w = writer(0);
    ASSERT_TRUE(w.in());
    auto kind = a_mutex({lock_path});
    kind.request.layout = names;
    const auto l = c.add(1, kind, options);
    const auto m = l->lock(role::exclusive);
    c.world.advance(delay * 100us);
    downgrade(w);
    c.quieten();
    EXPECT_EQ(m->told, 0);
    w.out();
    ASSERT_TRUE(c.granted(m));
    l->unlock(m);
    c.quieten();
  }
  c.check_end();
}

// In every layout, in the order of their coming.
TEST_P(one_wait_queue, has_mutexes_readers_and_writers) {
  for (const auto& l : {layout::kazoo(), layout::curator(), layout::zookeeper()}) {
    SCOPED_TRACE(l.name());
    names = l;
    begin_anew();
    const auto m1 = a_mutex_of(0), r1 = reader(1), r2 = reader(2), m2 = several(3), w = writer(4),
               m3 = a_mutex_of(5), r3 = reader(1);
    const auto alone = [&](const one& o) {
      ASSERT_TRUE(c.granted(o.a));
      c.quieten();
      for (const auto& other : {m1, r1, r2, m2, w, m3, r3}) EXPECT_EQ(other.in(), other.a == o.a);
      o.out();
    };
    alone(m1);
    ASSERT_TRUE(c.granted(r1.a) && c.granted(r2.a));
    c.quieten();
    EXPECT_FALSE(m2.in() || w.in() || m3.in() || r3.in());
    r2.out();
    c.quieten();
    EXPECT_FALSE(m2.in());
    r1.out();
    alone(m2);
    alone(w);
    alone(m3);
    alone(r3);
    c.quieten();
  }
  c.check_end();
}

// A mutex granted behind readers records that all up to it are gone; one that comes behind a reader
// that holds finds no such record.
TEST_P(one_wait_queue, what_is_served_is_never_a_reader_that_holds) {
  names = layout::curator();
  a_ticket_is_served();
  const auto r = reader(0);
  const auto m = a_mutex_of(1), n = a_mutex_of(2);
  EXPECT_TRUE(r.in());
  EXPECT_FALSE(m.in() || n.in());
  // The one between gives up: its deletion proves nothing about the reader.
  m.l->give_up(m.a);
  c.quieten();
  EXPECT_FALSE(n.in());
  r.out();
  ASSERT_TRUE(c.granted(n.a));
  n.out();
  c.check_end();
}

TEST_P(one_wait_queue, refuses_another_librarys_contender_of_another_kind) {
  names = layout::curator();
  const std::string guid = "/_c_12345678-1234-1234-1234-123456789012-";
  const auto expect_refused = [&](const one& o) {
    EXPECT_EQ(o.a->told, 1);
    EXPECT_EQ(o.a->ec, errc::layout_mismatch);
    EXPECT_NE(o.a->who->mismatch.find(guid.substr(1)), std::string::npos) << o.a->who->mismatch;
  };
  for (const auto* theirs : {"__READ__", "__WRIT__"}) {
    hand curator{c.world.server()};
    curator.create_numbered(lock_path + guid + theirs);
    expect_refused(a_mutex_of(0));
    expect_refused(several(1));
    const auto r = reader(2);  // of its own kind
    EXPECT_FALSE(r.a->ec);
    curator.end();
    ASSERT_TRUE(c.granted(r.a));
    r.out();
    c.quieten();
  }
  hand curator{c.world.server()};
  curator.create_numbered(lock_path + guid + "lock-");
  expect_refused(reader(0));
  expect_refused(writer(1));
  const auto m = a_mutex_of(2);
  EXPECT_EQ(m.a->told, 0);
  curator.end();
  ASSERT_TRUE(c.granted(m.a));
  m.out();
  c.check_end();
}

TEST_P(one_wait_queue, a_refusal_names_both_layouts) {
  names = layout::kazoo();
  const auto m = a_mutex_of(0);
  ASSERT_TRUE(m.in());
  names = layout::curator();
  const auto refused = a_mutex_of(1);
  EXPECT_EQ(refused.a->ec, errc::layout_mismatch);
  EXPECT_EQ(refused.a->who->mismatch,
            "node __lock__0000000000 has the layout kazoo, this lock the layout curator");
  m.out();
  c.check_end();
}

// A layout of one's own with the names of known writers.
TEST_P(one_wait_queue, names_of_ones_own_that_are_known_writers_do_not_grant_by_a_deletion) {
  names = layout::kazoo();
  a_ticket_is_served();
  const auto w = writer(0);
  names = layout::custom("__lock__");
  const auto m = a_mutex_of(1);
  EXPECT_FALSE(m.in());
  downgrade(w);
  c.quieten();
  EXPECT_FALSE(m.in());
  EXPECT_EQ(m.a->ec, errc::layout_mismatch);  // it does not know readers
  w.out();
  c.check_end();
}

}  // namespace
}  // namespace conclave::simulated
