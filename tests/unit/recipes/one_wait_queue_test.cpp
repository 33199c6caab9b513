// Mutexes, readers and writers on one path: one wait queue, in which a deletion is a grant only if
// the deleted contender cannot have become a reader.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_test_world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

const std::string lock_path = "/locks/one", other_path = "/locks/two";

class one_wait_queue : public testing::TestWithParam<bool> {
 protected:
  lock_test_world c{{.clients = 6}};
  lock_options options;
  layout names = layout::kazoo();
  one_wait_queue() { options.tickets = GetParam(); }
  void SetUp() override {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(lock_path);
    c.world.by_hand().create(other_path);
  }
  struct caller {
    locker_pointer l;
    call_pointer a;
    bool holds() const { return a->holding(); }
    void release() const { l->unlock(a); }
  };
  caller enter(std::size_t client, lock_kind kind, role as) {
    kind.request.layout = names;
    const auto l = c.add(client, kind, options);
    caller o{l, l->lock(as)};
    c.world.advance(20ms);
    return o;
  }
  caller a_mutex_of(std::size_t client) {
    return enter(client, a_mutex({lock_path}), role::exclusive);
  }
  caller several(std::size_t client) {
    return enter(client, a_mutex({lock_path, other_path}), role::exclusive);
  }
  caller reader(std::size_t client) {
    return enter(client, a_shared_mutex(lock_path), role::reader);
  }
  caller writer(std::size_t client) {
    return enter(client, a_shared_mutex(lock_path), role::writer);
  }
  void downgrade(const caller& w) {
    w.l->downgrade(w.a);
    ASSERT_TRUE(c.run_until([&] { return !w.l->downgrades().empty(); }));
    ASSERT_FALSE(w.l->downgrades()[0]);
  }
  void create_paths_again() {
    for (const auto& p : {lock_path, other_path}) {
      c.world.by_hand().remove(p);
      c.world.by_hand().create(p);
    }
  }
  // Writes a served ticket to the parent record. A contender with the ticket after the next one
  // then knows that all contenders before its predecessor are gone.
  void serve_one_ticket() {
    const auto m = a_mutex_of(5);
    ASSERT_TRUE(m.holds());
    m.release();
    c.finish_pending_work();
  }
};
INSTANTIATE_TEST_SUITE_P(tickets, one_wait_queue, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(one_wait_queue, a_mutex_waits_for_a_downgraded_writer) {
  for (const auto& l : {layout::kazoo(), layout::curator(), layout::zookeeper()})
    for (const bool served : {false, true})
      for (const bool of_several : {false, true}) {
        SCOPED_TRACE(l.name() + std::string{" served "} + (served ? "1" : "0") + " several " +
                     (of_several ? "1" : "0"));
        names = l;
        create_paths_again();
        if (served) serve_one_ticket();
        const auto w = writer(0);
        ASSERT_TRUE(w.holds());
        const auto m = of_several ? several(1) : a_mutex_of(1);
        const auto behind = a_mutex_of(2);
        c.finish_pending_work();
        downgrade(w);
        c.finish_pending_work();
        EXPECT_EQ(m.a->completions, 0);
        w.release();
        ASSERT_TRUE(c.granted(m.a));
        m.release();
        ASSERT_TRUE(c.granted(behind.a));
        behind.release();
        c.finish_pending_work();
      }
  c.check_end();
}

// The downgrade happens after the mutex has listed the wait queue and before it sets its watch.
TEST_P(one_wait_queue, a_downgrade_while_a_mutex_enters_does_not_grant_the_mutex) {
  for (int delay = 0; delay < 30; ++delay) {
    serve_one_ticket();
    const auto w = writer(0);
    ASSERT_TRUE(w.holds());
    auto kind = a_mutex({lock_path});
    kind.request.layout = names;
    const auto l = c.add(1, kind, options);
    const auto m = l->lock(role::exclusive);
    c.world.advance(delay * 100us);
    downgrade(w);
    c.finish_pending_work();
    EXPECT_EQ(m->completions, 0);
    w.release();
    ASSERT_TRUE(c.granted(m));
    l->unlock(m);
    c.finish_pending_work();
  }
  c.check_end();
}

// In every layout, contenders are granted in the order of their creation.
TEST_P(one_wait_queue, orders_mutexes_readers_and_writers) {
  for (const auto& l : {layout::kazoo(), layout::curator(), layout::zookeeper()}) {
    SCOPED_TRACE(l.name());
    names = l;
    create_paths_again();
    const auto m1 = a_mutex_of(0), r1 = reader(1), r2 = reader(2), m2 = several(3), w = writer(4),
               m3 = a_mutex_of(5), r3 = reader(1);
    const auto alone = [&](const caller& o) {
      ASSERT_TRUE(c.granted(o.a));
      c.finish_pending_work();
      for (const auto& other : {m1, r1, r2, m2, w, m3, r3})
        EXPECT_EQ(other.holds(), other.a == o.a);
      o.release();
    };
    alone(m1);
    ASSERT_TRUE(c.granted(r1.a) && c.granted(r2.a));
    c.finish_pending_work();
    EXPECT_FALSE(m2.holds() || w.holds() || m3.holds() || r3.holds());
    r2.release();
    c.finish_pending_work();
    EXPECT_FALSE(m2.holds());
    r1.release();
    alone(m2);
    alone(w);
    alone(m3);
    alone(r3);
    c.finish_pending_work();
  }
  c.check_end();
}

// A mutex that is granted after readers records that all earlier contenders are gone. A mutex that
// waits for a reader must find no such record.
TEST_P(one_wait_queue, a_served_ticket_does_not_include_a_reader_that_holds) {
  names = layout::curator();
  serve_one_ticket();
  const auto r = reader(0);
  const auto m = a_mutex_of(1), n = a_mutex_of(2);
  EXPECT_TRUE(r.holds());
  EXPECT_FALSE(m.holds() || n.holds());
  // The deletion of the first waiter proves nothing about the reader.
  m.l->give_up(m.a);
  c.finish_pending_work();
  EXPECT_FALSE(n.holds());
  r.release();
  ASSERT_TRUE(c.granted(n.a));
  n.release();
  c.check_end();
}

TEST_P(one_wait_queue, refuses_another_librarys_contender_of_another_kind) {
  names = layout::curator();
  const std::string guid = "/_c_12345678-1234-1234-1234-123456789012-";
  const auto expect_refused = [&](const caller& o) {
    EXPECT_EQ(o.a->completions, 1);
    EXPECT_EQ(o.a->ec, errc::layout_mismatch);
    EXPECT_NE(o.a->who->mismatch.find(guid.substr(1)), std::string::npos) << o.a->who->mismatch;
  };
  for (const auto* theirs : {"__READ__", "__WRIT__"}) {
    direct_client curator{c.world.server()};
    curator.create_sequential(lock_path + guid + theirs);
    expect_refused(a_mutex_of(0));
    expect_refused(several(1));
    const auto r = reader(2);  // of its own kind
    EXPECT_FALSE(r.a->ec);
    curator.end();
    ASSERT_TRUE(c.granted(r.a));
    r.release();
    c.finish_pending_work();
  }
  direct_client curator{c.world.server()};
  curator.create_sequential(lock_path + guid + "lock-");
  expect_refused(reader(0));
  expect_refused(writer(1));
  const auto m = a_mutex_of(2);
  EXPECT_EQ(m.a->completions, 0);
  curator.end();
  ASSERT_TRUE(c.granted(m.a));
  m.release();
  c.check_end();
}

TEST_P(one_wait_queue, a_refusal_names_both_layouts) {
  names = layout::kazoo();
  const auto m = a_mutex_of(0);
  ASSERT_TRUE(m.holds());
  names = layout::curator();
  const auto refused = a_mutex_of(1);
  EXPECT_EQ(refused.a->ec, errc::layout_mismatch);
  EXPECT_EQ(refused.a->who->mismatch,
            "node __lock__0000000000 has the layout kazoo, but this lock has the layout curator");
  m.release();
  c.check_end();
}

// A custom layout with the names of known writers.
TEST_P(one_wait_queue, custom_names_of_known_writers_do_not_grant_by_a_deletion) {
  names = layout::kazoo();
  serve_one_ticket();
  const auto w = writer(0);
  names = layout::custom("__lock__");
  const auto m = a_mutex_of(1);
  EXPECT_FALSE(m.holds());
  downgrade(w);
  c.finish_pending_work();
  EXPECT_FALSE(m.holds());
  EXPECT_EQ(m.a->ec, errc::layout_mismatch);  // the custom layout has no readers
  w.release();
  c.check_end();
}

}  // namespace
}  // namespace conclave::simulated
