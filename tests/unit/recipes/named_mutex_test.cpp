// A lock whose node has a fixed name.
#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_test_world.hpp"

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

class named_mutex : public testing::Test {
 protected:
  lock_test_world c{four_clients()};
  const std::string path = "/names/one";
  const lock_kind kind = a_named_mutex(path);
  direct_client& by_hand() { return c.world.by_hand(); }
  client& first() { return c.world.client(0); }
  void SetUp() override { by_hand().create("/names"); }
  struct caller {
    locker_pointer l;
    call_pointer a;
    void release() const { l->unlock(a); }
  };
  caller enter(std::size_t client) {
    const auto l = c.add(client, kind);
    caller o{l, l->lock()};
    c.world.advance(20ms);
    return o;
  }
};

TEST_F(named_mutex, is_one_node_that_each_client_holds_once) {
  std::vector<caller> all;
  for (std::size_t i = 0; i < 4; ++i) all.push_back(enter(i));
  EXPECT_EQ(c.children("/names"), lines{"one"});
  EXPECT_EQ(all[0].a->hold->nodes(), lines{path});
  for (std::size_t done = 0; done < 4; ++done) {
    const auto holds = [](const caller& o) { return o.a->holding(); };
    ASSERT_TRUE(c.run_until([&] { return std::any_of(all.begin(), all.end(), holds); }));
    std::find_if(all.begin(), all.end(), holds)->release();
  }
  c.check_end();
}

TEST_F(named_mutex, can_be_a_child_of_the_root) {
  const auto l = c.add(0, a_named_mutex("/one")), m = c.add(1, a_named_mutex("/one"));
  const auto a = l->lock();
  ASSERT_TRUE(c.granted(a)) << name_of(a->ec);
  EXPECT_EQ(a->hold->nodes(), lines{"/one"});
  const auto b = m->lock();
  c.finish_pending_work();
  EXPECT_EQ(b->completions, 0);
  l->unlock(a);
  ASSERT_TRUE(c.granted(b));
  m->unlock(b);
  c.check_end();
  EXPECT_FALSE(by_hand().exists("/one"));
}

TEST_F(named_mutex, creates_its_parents) {
  const auto l = c.add(0, a_named_mutex("/deep/down/one"));
  const auto a = l->lock();
  ASSERT_TRUE(c.granted(a));
  l->unlock(a);
  c.check_end();
}

TEST_F(named_mutex, waits_for_a_foreign_node) {
  direct_client other_client{c.world.server()};
  other_client.create(path, "theirs", create_mode::ephemeral);
  const auto a = enter(0);
  const auto l = c.add(1, kind);
  const auto b = l->try_lock();
  ASSERT_TRUE(c.completed(b));
  EXPECT_EQ(b->ec, errc::lock_busy);
  by_hand().set(path, "something else");
  c.finish_pending_work();
  EXPECT_EQ(a.a->completions, 0);
  other_client.end();
  ASSERT_TRUE(c.granted(a.a));
  a.release();
  c.check_end();
}

TEST_F(named_mutex, ignores_nodes_with_similar_names) {
  by_hand().create("/names/one1");
  by_hand().create("/names/on");
  first().drop_reply(opcode::create2);
  const auto m = c.add(0, a_named_mutex("/names/one2"));
  const auto b = m->lock();
  const auto a = enter(0);
  ASSERT_TRUE(c.granted(b) && c.granted(a.a));
  a.release();
  m->unlock(b);
  c.finish_pending_work();
  EXPECT_EQ(c.children("/names"), (lines{"on", "one1"}));
}

TEST_F(named_mutex, a_lost_reply_to_its_creation_is_resolved) {
  for (const bool request : {true, false})
    for (const auto how : disconnect_styles) {
      request ? first().drop_request(opcode::create2, how)
              : first().drop_reply(opcode::create2, how);
      const auto l = c.add(0, kind), m = c.add(1, kind);
      const auto a = l->lock();
      ASSERT_TRUE(c.granted(a));
      EXPECT_EQ(a->hold->token(), by_hand().get(path).stat.czxid);
      const auto b = m->lock();
      // The same for a creation that fails.
      request ? first().drop_request(opcode::create2, how)
              : first().drop_reply(opcode::create2, how);
      const auto n = c.add(0, kind);
      const auto d = n->lock();
      c.finish_pending_work();
      EXPECT_EQ(b->completions + d->completions, 0);
      first().drop_reply(opcode::remove, how);
      l->unlock(a);
      for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(c.run_until([&] { return b->holding() || d->holding(); }));
        b->holding() ? m->unlock(b) : n->unlock(d);
      }
      c.check_end();
      ASSERT_FALSE(HasFailure());
    }
}

TEST_F(named_mutex, a_lost_reply_is_resolved_although_the_node_was_overwritten) {
  first().drop_reply(opcode::create2);
  first().refuse_connections(true);
  const auto a = enter(0);
  c.world.advance(50ms);
  ASSERT_FALSE(by_hand().set(path, "__REVOKE__"));
  first().refuse_connections(false);
  ASSERT_TRUE(c.granted(a.a));
  a.release();
  c.check_end();
}

TEST_F(named_mutex, a_lost_reply_to_a_release_does_not_delete_the_successors_node) {
  for (const auto how : disconnect_styles) {
    const auto a = enter(0);
    ASSERT_TRUE(a.a->holding());
    first().drop_reply(opcode::remove, how);
    first().refuse_connections(true);
    a.release();
    const auto b = enter(1);
    ASSERT_TRUE(c.granted(b.a));
    first().refuse_connections(false);
    c.finish_pending_work();
    EXPECT_TRUE(b.a->held());
    EXPECT_TRUE(by_hand().exists(path));
    b.release();
    c.check_end();
  }
}

TEST_F(named_mutex, a_waiter_whose_session_expires_starts_again) {
  const auto a = enter(1), b = enter(0);
  first().refuse_connections(true);
  first().disconnect();
  c.world.advance(30s);
  first().refuse_connections(false);
  c.finish_pending_work();
  EXPECT_EQ(b.a->completions, 0);
  a.release();
  ASSERT_TRUE(c.granted(b.a));
  EXPECT_EQ(b.a->hold->session(), first().machine().session_id());
  b.release();
  c.check_end();
}

TEST_F(named_mutex, a_holder_whose_session_expires_is_notified_before_the_next_grant) {
  const auto a = enter(0), b = enter(1);
  c.world.advance(1s);
  first().stall(true);
  ASSERT_TRUE(c.granted(b.a));
  EXPECT_TRUE(a.a->lost());
  EXPECT_LT(a.a->lost_at, b.a->completed_at);
  first().stall(false);
  c.finish_pending_work();
  a.release();
  EXPECT_TRUE(b.a->held());
  b.release();
  c.check_end();
}

TEST_F(named_mutex, is_lost_if_its_node_is_deleted) {
  const auto a = enter(0), b = enter(1);
  c.world.advance(200ms);
  a.a->node_was_deleted = true;
  by_hand().remove(path);
  ASSERT_TRUE(c.lost(a.a));
  ASSERT_TRUE(c.granted(b.a));
  a.release();
  c.finish_pending_work();
  EXPECT_TRUE(b.a->held());
  b.release();
  c.check_end();
}

// The successor's node has the same name, so a holder must verify its node from the beginning.
TEST_F(named_mutex, a_node_deleted_right_after_the_grant_does_not_affect_the_successor) {
  const auto a = enter(0), b = enter(1), d = enter(2);
  a.a->node_was_deleted = true;
  by_hand().remove(path);
  ASSERT_TRUE(c.run_until([&] { return b.a->granted() || d.a->granted(); }));
  const auto& next = b.a->granted() ? b : d;
  const auto& last = b.a->granted() ? d : b;
  a.release();
  c.finish_pending_work();
  EXPECT_TRUE(next.a->held());
  EXPECT_EQ(last.a->completions, 0);
  next.release();
  ASSERT_TRUE(c.granted(last.a));
  last.release();
  c.check_end();
}

// The creation always fails with no_node, although all parents exist.
TEST_F(named_mutex, a_creation_that_fails_is_retried_with_a_backoff) {
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

TEST_F(named_mutex, a_caller_that_gives_up_after_any_event_leaves_no_node) {
  int cancelled = 0;
  for (const int fault : {0, 1, 2, 3})
    for (const bool with_parent : {true, false}) {
      bool was_completed = false;
      for (int k = 0; !was_completed; ++k) {
        SCOPED_TRACE(testing::Message() << "event " << k << ", fault " << fault);
        lock_test_world fresh{four_clients()};
        if (with_parent) fresh.world.by_hand().create("/names");
        const auto l = fresh.add(0, kind), m = fresh.add(1, kind);
        auto& link = fresh.world.client(0);
        const auto a = m->lock();
        if (with_parent) fresh.granted(a);
        if (fault == 1) link.drop_reply(opcode::create2);
        if (fault == 2) link.drop_request(opcode::create2);
        if (fault == 3) link.disconnect_after_frames(direction::down, 2);
        const auto b = l->lock();
        a->on_completed = [&] { fresh.world.after(10ms, [&] { m->unlock(a); }); };
        if (a->completions > 0) a->on_completed();
        for (int i = 0; i < k; ++i) fresh.world.step();
        was_completed = b->completions > 0;
        l->give_up(b);
        ASSERT_TRUE(fresh.completed(b));
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
