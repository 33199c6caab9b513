// A lock that is one node of a name that can be there only once.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_contest.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

world_options four_clients() {
  world_options o;
  o.clients = 4;
  o.session_timeout = 10s;
  return o;
}

class named : public testing::Test {
 protected:
  lock_contest c{four_clients()};
  const std::string path = "/names/one";
  const lock_kind kind = a_named_mutex(path);
  hand& by_hand() { return c.world.by_hand(); }
  client& first() { return c.world.client(0); }
  void SetUp() override { by_hand().create("/names"); }
  struct one {
    locker_pointer l;
    call_pointer a;
    void out() const { l->unlock(a); }
  };
  one comes(std::size_t client) {
    const auto l = c.add(client, kind);
    one o{l, l->lock()};
    c.world.advance(20ms);
    return o;
  }
};

TEST_F(named, is_one_node_and_goes_from_hand_to_hand) {
  std::vector<one> all;
  for (std::size_t i = 0; i < 4; ++i) all.push_back(comes(i));
  EXPECT_EQ(c.children("/names"), lines{"one"});
  EXPECT_EQ(all[0].a->hold->nodes(), lines{path});
  for (std::size_t done = 0; done < 4; ++done) {
    const auto holds = [](const one& o) { return o.a->holding(); };
    ASSERT_TRUE(c.run_until([&] { return std::any_of(all.begin(), all.end(), holds); }));
    std::find_if(all.begin(), all.end(), holds)->out();
  }
  c.check_end();
}

TEST_F(named, directly_under_the_root) {
  const auto l = c.add(0, a_named_mutex("/one")), m = c.add(1, a_named_mutex("/one"));
  const auto a = l->lock();
  ASSERT_TRUE(c.granted(a)) << name_of(a->ec);
  EXPECT_EQ(a->hold->nodes(), lines{"/one"});
  const auto b = m->lock();
  c.quieten();
  EXPECT_EQ(b->told, 0);
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
  EXPECT_FALSE(by_hand().exists("/one"));
}

TEST_F(named, makes_its_parents) {
  const auto l = c.add(0, a_named_mutex("/deep/down/one"));
  const auto a = l->lock();
  ASSERT_TRUE(c.granted(a));
  l->unlock(a);
  c.check_end();
}

TEST_F(named, a_strangers_node_is_waited_for) {
  hand stranger{c.world.server()};
  stranger.create(path, "theirs", create_mode::ephemeral);
  const auto a = comes(0);
  const auto l = c.add(1, kind);
  const auto b = l->try_lock();
  ASSERT_TRUE(c.told(b));
  EXPECT_EQ(b->ec, errc::lock_busy);
  by_hand().set(path, "something else");
  c.quieten();
  EXPECT_EQ(a.a->told, 0);
  stranger.end();
  ASSERT_TRUE(c.granted(a.a));
  a.out();
  c.check_end();
}

TEST_F(named, longer_and_other_names_do_not_matter) {
  by_hand().create("/names/one1");
  by_hand().create("/names/on");
  first().swallow_reply(opcode::create2);
  const auto m = c.add(0, a_named_mutex("/names/one2"));
  const auto b = m->lock();
  const auto a = comes(0);
  ASSERT_TRUE(c.granted(b) && c.granted(a.a));
  a.out();
  m->unlock(b);
  c.quieten();
  EXPECT_EQ(c.children("/names"), (lines{"on", "one1"}));
}

TEST_F(named, a_lost_reply_to_its_creation_is_settled) {
  for (const bool request : {true, false})
    for (const auto how : cut_styles) {
      request ? first().swallow_request(opcode::create2, how)
              : first().swallow_reply(opcode::create2, how);
      const auto l = c.add(0, kind), m = c.add(1, kind);
      const auto a = l->lock();
      ASSERT_TRUE(c.granted(a));
      EXPECT_EQ(a->hold->token(), by_hand().get(path).stat.czxid);
      const auto b = m->lock();
      // The same of a creation that is refused.
      request ? first().swallow_request(opcode::create2, how)
              : first().swallow_reply(opcode::create2, how);
      const auto n = c.add(0, kind);
      const auto d = n->lock();
      c.quieten();
      EXPECT_EQ(b->told + d->told, 0);
      first().swallow_reply(opcode::remove, how);
      l->unlock(a);
      for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(c.run_until([&] { return b->holding() || d->holding(); }));
        b->holding() ? m->unlock(b) : n->unlock(d);
      }
      c.check_end();
      ASSERT_FALSE(HasFailure());
    }
}

TEST_F(named, a_lost_reply_whose_data_was_written_over) {
  first().swallow_reply(opcode::create2);
  first().refuse_connections(true);
  const auto a = comes(0);
  c.world.advance(50ms);
  ASSERT_FALSE(by_hand().set(path, "__REVOKE__"));
  first().refuse_connections(false);
  ASSERT_TRUE(c.granted(a.a));
  a.out();
  c.check_end();
}

TEST_F(named, a_lost_reply_to_a_release_does_not_delete_the_next_ones_node) {
  for (const auto how : cut_styles) {
    const auto a = comes(0);
    ASSERT_TRUE(a.a->holding());
    first().swallow_reply(opcode::remove, how);
    first().refuse_connections(true);
    a.out();
    const auto b = comes(1);
    ASSERT_TRUE(c.granted(b.a));
    first().refuse_connections(false);
    c.quieten();
    EXPECT_TRUE(b.a->held());
    EXPECT_TRUE(by_hand().exists(path));
    b.out();
    c.check_end();
  }
}

TEST_F(named, one_who_waits_and_expires_begins_again) {
  const auto a = comes(1), b = comes(0);
  first().refuse_connections(true);
  first().cut();
  c.world.advance(30s);
  first().refuse_connections(false);
  c.quieten();
  EXPECT_EQ(b.a->told, 0);
  a.out();
  ASSERT_TRUE(c.granted(b.a));
  EXPECT_EQ(b.a->hold->session(), first().machine().session_id());
  b.out();
  c.check_end();
}

TEST_F(named, one_who_holds_and_expires_is_told_before_the_next) {
  const auto a = comes(0), b = comes(1);
  c.world.advance(1s);
  first().stall(true);
  ASSERT_TRUE(c.granted(b.a));
  EXPECT_TRUE(a.a->lost());
  EXPECT_LT(a.a->lost_at, b.a->told_at);
  first().stall(false);
  c.quieten();
  a.out();
  EXPECT_TRUE(b.a->held());
  b.out();
  c.check_end();
}

TEST_F(named, deleted_by_hand_is_lost) {
  const auto a = comes(0), b = comes(1);
  c.world.advance(200ms);
  a.a->robbed = true;
  by_hand().remove(path);
  ASSERT_TRUE(c.lost(a.a));
  ASSERT_TRUE(c.granted(b.a));
  a.out();
  c.quieten();
  EXPECT_TRUE(b.a->held());
  b.out();
  c.check_end();
}

// Its name is the next one's at once, so it must know from the first moment on.
TEST_F(named, deleted_by_hand_as_soon_as_it_is_held_does_not_take_the_next_ones_node) {
  const auto a = comes(0), b = comes(1), d = comes(2);
  a.a->robbed = true;
  by_hand().remove(path);
  ASSERT_TRUE(c.run_until([&] { return b.a->granted() || d.a->granted(); }));
  const auto& next = b.a->granted() ? b : d;
  const auto& last = b.a->granted() ? d : b;
  a.out();
  c.quieten();
  EXPECT_TRUE(next.a->held());
  EXPECT_EQ(last.a->told, 0);
  next.out();
  ASSERT_TRUE(c.granted(last.a));
  last.out();
  c.check_end();
}

// It would be no_node for ever, though all parents are there.
TEST_F(named, a_name_that_cannot_be_made_is_not_tried_without_a_pause) {
  auto impossible = kind;
  impossible.request.name = "no/such";
  const auto l = c.add(0, impossible);
  const auto before = first().traffic();
  const auto a = l->lock();
  c.world.advance(1s);
  EXPECT_LT((first().traffic() - before).all(), 300);
  l->give_up(a);
  c.check_end();
}

TEST_F(named, giving_up_behind_each_event_leaves_nothing) {
  int cancelled = 0;
  for (const int fault : {0, 1, 2, 3})
    for (const bool with_parent : {true, false}) {
      bool was_told = false;
      for (int k = 0; !was_told; ++k) {
        SCOPED_TRACE(testing::Message() << "event " << k << ", fault " << fault);
        lock_contest fresh{four_clients()};
        if (with_parent) fresh.world.by_hand().create("/names");
        const auto l = fresh.add(0, kind), m = fresh.add(1, kind);
        auto& link = fresh.world.client(0);
        const auto a = m->lock();
        if (with_parent) fresh.granted(a);
        if (fault == 1) link.swallow_reply(opcode::create2);
        if (fault == 2) link.swallow_request(opcode::create2);
        if (fault == 3) link.cut_after_frames(direction::down, 2);
        const auto b = l->lock();
        a->when_told = [&] { fresh.world.after(10ms, [&] { m->unlock(a); }); };
        if (a->told > 0) a->when_told();
        for (int i = 0; i < k; ++i) fresh.world.step();
        was_told = b->told > 0;
        l->give_up(b);
        ASSERT_TRUE(fresh.told(b));
        if (b->granted()) l->unlock(b);
        cancelled += !b->granted();
        ASSERT_TRUE(fresh.run_until([&] { return a->unlocked; }));
        fresh.check_end();
        ASSERT_FALSE(HasFailure());
      }
    }
  EXPECT_GT(cancelled, 50);
}

}  // namespace
}  // namespace conclave::simulated
