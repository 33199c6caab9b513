// Mutexes, readers and writers on one path: one wait queue, in which a deletion is a grant only if
// the deleted contender cannot have become a reader.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_contest.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

const std::string path = "/locks/one", other_path = "/locks/two";

class one_wait_queue : public testing::TestWithParam<bool> {
 protected:
  lock_contest c{{.clients = 6}};
  lock_options options;
  layout names = layout::kazoo();
  one_wait_queue() { options.tickets = GetParam(); }
  void SetUp() override {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(path);
    c.world.by_hand().create(other_path);
  }
  struct one {
    locker_pointer l;
    call_pointer a;
    bool in() const { return a->holding(); }
    void out() const { l->unlock(a); }
  };
  one comes(std::size_t client, lock_kind kind, role as) {
    kind.terms.layout = names;
    const auto l = c.add(client, kind, options);
    one o{l, l->lock(as)};
    c.world.advance(20ms);
    return o;
  }
  one a_mutex_of(std::size_t client) { return comes(client, a_mutex({path}), role::exclusive); }
  one several(std::size_t client) {
    return comes(client, a_mutex({path, other_path}), role::exclusive);
  }
  one reader(std::size_t client) { return comes(client, a_shared_mutex(path), role::reader); }
  one writer(std::size_t client) { return comes(client, a_shared_mutex(path), role::writer); }
  void downgrade(const one& w) {
    w.l->downgrade(w.a);
    ASSERT_TRUE(c.run_until([&] { return !w.l->downgrades().empty(); }));
    ASSERT_FALSE(w.l->downgrades()[0]);
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
  for (const auto& l : {layout::kazoo()})
    for (const bool served : {false, true})
      for (const bool of_several : {false, true}) {
        SCOPED_TRACE(std::string{"served "} + (served ? "1" : "0") + " several " +
                     (of_several ? "1" : "0"));
        names = l;
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
    auto kind = a_mutex({path});
    kind.terms.layout = names;
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

}  // namespace
}  // namespace conclave::simulated
