// A lock on several paths: all of them are held or none.
#include <algorithm>

#include <gtest/gtest.h>

#include "one_lock.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

class several_locks : public testing::TestWithParam<bool>, protected one_lock {
 protected:
  several_locks() : one_lock{{.clients = 4}, GetParam()} {}
  direct_client& by_hand() { return c.world.by_hand(); }
  void SetUp() override { by_hand().create("/locks"); }
  recipes::lock_request of(std::vector<std::string> parents) {
    auto t = c.request;
    t.parents = std::move(parents);
    return t;
  }
};
INSTANTIATE_TEST_SUITE_P(tickets, several_locks, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

// The connection is lost again while the nodes are verified. The first node was seen on the second
// connection, and it is deleted before the third.
TEST_P(several_locks, are_verified_on_one_connection) {
  int disconnects = 0;
  for (std::size_t frames = 1; frames < 12; ++frames) {
    SCOPED_TRACE(frames);
    const auto a = c.begin(0, of({"/locks/a", "/locks/b"}));
    ASSERT_TRUE(c.granted(a));
    c.world.advance(200ms);
    auto& link = c.world.client(0);
    link.disconnect();
    link.disconnect_after_frames(direction::down, frames);
    const bool disconnected_again = c.world.run_until([&] { return !link.fault_pending(); });
    link.forget_fault();
    if (!disconnected_again) {
      a->leave();
      ASSERT_TRUE(c.gone(a));
      break;
    }
    ++disconnects;
    link.refuse_connections(true);
    by_hand().remove(a->path(0));
    c.world.advance(10ms);
    link.refuse_connections(false);
    ASSERT_TRUE(c.gone(a));
    EXPECT_EQ(a->count("lost node_deleted"), 1);
    EXPECT_EQ(a->journal().back(), "gone");
  }
  EXPECT_GE(disconnects, 2);
  check_end();
}

TEST_P(several_locks, sets_in_different_order_do_not_deadlock) {
  const std::vector<std::vector<std::string>> sets{{"/locks/a", "/locks/b"},
                                                   {"/locks/b", "/locks/a"},
                                                   {"/locks/b", "/locks/c", "/locks/a"},
                                                   {"/locks/c", "/locks/b"},
                                                   {"/locks/a"},
                                                   {"/locks/c"}};
  for (int round = 0; round < 4; ++round) {
    std::vector<attempt_pointer> all;
    for (std::size_t i = 0; i < 12; ++i)
      all.push_back(c.begin(i % 4, of(sets[(i * 5 + static_cast<std::size_t>(round)) % 6])));
    std::size_t done = 0;
    while (done < all.size()) {
      ASSERT_TRUE(c.run_until([&] {
        return std::any_of(all.begin(), all.end(), [](auto& a) { return a->holding(); });
      })) << done
          << " were granted";
      for (const auto& a : all)
        if (a->holding()) {
          a->leave();
          ++done;
        }
    }
    check_end();
  }
}

TEST_P(several_locks, are_held_together_or_not_at_all) {
  const auto a = c.begin(0, of({"/locks/b"}));
  ASSERT_TRUE(c.granted(a));
  auto t = of({"/locks/a", "/locks/b"});
  t.if_contended = recipes::lock_request::on_contention::give_up;
  const auto b = c.begin(1, t);
  ASSERT_TRUE(c.gone(b));
  EXPECT_EQ(b->journal(), (lines{"failed lock_busy", "gone"}));
  EXPECT_TRUE(by_hand().children("/locks/a").empty());
  a->leave();
  const auto d = c.begin(1, t);
  ASSERT_TRUE(c.granted(d));
  EXPECT_EQ(d->contender().node_count(), 2u);
  d->leave();
  check_end();
}

TEST_P(several_locks, a_lost_reply_to_the_transaction_is_resolved) {
  for (const auto parents : {2u, 3u})
    for (const bool request : {true, false})
      for (const disconnect_style how : {disconnect_style{false, false}, {true, true}}) {
        auto t = of({"/locks/a", "/locks/b", "/locks/c"});
        t.parents.resize(parents);
        for (const auto& p : t.parents) by_hand().create(p);
        auto& first = c.world.client(0);
        request ? first.drop_request(opcode::multi, how) : first.drop_reply(opcode::multi, how);
        const auto a = c.begin(0, t);
        ASSERT_TRUE(c.granted(a));
        for (std::size_t i = 0; i < parents; ++i)
          EXPECT_EQ(by_hand().children(t.parents[i]).size(), 1u);
        EXPECT_EQ(by_hand().get(a->path(1)).stat.czxid, a->token());
        request ? first.drop_request(opcode::multi, how) : first.drop_reply(opcode::multi, how);
        const auto b = c.begin(1, t);
        a->leave();
        ASSERT_TRUE(c.granted(b));
        b->leave();
        check_end();
      }
}

TEST_P(several_locks, a_deleted_node_loses_the_hold_and_releases_the_others) {
  const auto a = c.begin(0, of({"/locks/a", "/locks/b"}));
  ASSERT_TRUE(c.granted(a));
  const auto b = c.begin(1, of({"/locks/a"}));
  c.world.advance(200ms);
  by_hand().remove(a->path(1));
  ASSERT_TRUE(c.granted(b));
  EXPECT_EQ(a->count("lost node_deleted"), 1);
  b->leave();
  check_end();
}

// The connection is lost while the nodes are verified. Then the node that was verified is deleted.
TEST_P(several_locks, are_restored_only_if_all_nodes_were_verified) {
  const auto a = c.begin(0, of({"/locks/a", "/locks/b"}));
  ASSERT_TRUE(c.granted(a));
  c.finish_pending_work();
  auto& link = c.world.client(0);
  const auto reads = [&] { return link.traffic().of(opcode::exists); };
  const auto before = reads();
  link.disconnect();
  ASSERT_TRUE(c.run_until([&] { return reads() == before + 2; }));  // the first reply has arrived
  link.disconnect();
  by_hand().remove(a->path(0));
  ASSERT_TRUE(c.gone(a));
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "lost node_deleted", "gone"}));
  check_end();
}

TEST_P(several_locks, a_node_deleted_while_the_outcome_is_unknown_leaves_no_orphan) {
  auto t = of({"/locks/a", "/locks/b"});
  for (const std::size_t which : {0u, 1u}) {
    for (const auto& p : t.parents) by_hand().create(p);
    auto& first = c.world.client(0);
    first.drop_reply(opcode::multi);
    first.refuse_connections(true);
    const auto a = c.begin(0, t);
    c.world.advance(20ms);
    ASSERT_EQ(by_hand().children(t.parents[which]).size(), 1u);
    by_hand().remove(t.parents[which] + "/" + by_hand().children(t.parents[which])[0]);
    first.refuse_connections(false);
    c.finish_pending_work();
    if (!a->done()) a->leave();
    check_end();
  }
}

TEST_P(several_locks, fail_if_one_path_cannot_be_created) {
  by_hand().create("/locks/closed", {}, {create_mode::persistent, read_only_acl()});
  for (const auto& paths :
       {lines{"/locks/a", "/locks/closed/b"}, {"/locks/closed/b", "/locks/z"}}) {
    const auto a = c.begin(0, of(paths));
    ASSERT_TRUE(c.world.run_until([&] { return a->done(); }, 10s));
    EXPECT_EQ(a->failure(), errc::no_auth);
  }
  check_end();
}

// One of the parents has reached its last sequence number, and a node has that name.
TEST_P(several_locks, wait_until_the_last_name_is_free) {
  for (const auto* node : {"/locks/a", "/locks/b", "/locks/b/lock-2147483647"})
    by_hand().create(node);
  c.world.set_counter("/locks/b", 2147483647);
  const auto before = c.world.client(0).traffic();
  const auto a = c.begin(0, of({"/locks/a", "/locks/b"}));
  c.world.advance(1s);
  EXPECT_FALSE(a->was_granted());
  EXPECT_LT((c.world.client(0).traffic() - before).all(), 20);
  by_hand().remove("/locks/b/lock-2147483647");
  ASSERT_TRUE(c.granted(a));
  a->leave();
  check_end();
}

TEST_P(several_locks, a_waiter_whose_node_in_another_wait_queue_is_deleted_fails) {
  const auto a = c.begin(0, of({"/locks/a"}));
  ASSERT_TRUE(c.granted(a));
  const auto b = c.begin(1, of({"/locks/a", "/locks/b"}));
  const auto d = c.begin(2, of({"/locks/b"}));
  c.world.advance(50ms);
  EXPECT_FALSE(d->was_granted());
  by_hand().remove(b->path(1));  // d is granted now, so b must not be
  ASSERT_TRUE(c.granted(d));
  a->leave();
  c.finish_pending_work();
  EXPECT_FALSE(b->holding());
  EXPECT_EQ(b->journal(), (lines{"failed waiter_node_deleted", "gone"}));
  d->leave();
  check_end();
}

// The event of the change uses up the waiter's watch on its first node.
TEST_P(several_locks, a_waiter_whose_node_is_overwritten_and_then_deleted_fails) {
  const auto a = c.begin(0, of({"/locks/a"}));
  const auto d = c.begin(2, of({"/locks/b"}));
  ASSERT_TRUE(c.granted(a) && c.granted(d));
  const auto b = c.begin(1, of({"/locks/a", "/locks/b"}));
  c.world.advance(50ms);
  a->leave();
  c.world.advance(50ms);
  by_hand().set(b->path(0), "something");
  c.world.advance(50ms);
  by_hand().remove(b->path(0));
  c.world.advance(50ms);
  d->leave();
  c.finish_pending_work();
  EXPECT_EQ(b->journal(), (lines{"failed waiter_node_deleted", "gone"}));
  check_end();
}

// A lock whose release, with the parent records, is larger than the creation of its nodes.
class large_locks : public testing::Test, protected one_lock {
 protected:
  explicit large_locks(const world_options& options = {}) : one_lock{options, true} {}

  attempt_pointer holder_of(int paths) {
    auto t = c.request;
    t.parents.clear();
    by_hand().create("/locks");
    for (int i = 0; i < paths; ++i) {
      t.parents.push_back("/locks/" + std::string(190, 'x') + std::to_string(i));
      by_hand().create(t.parents.back());
    }
    auto a = c.begin(0, t);
    EXPECT_TRUE(c.granted(a));
    c.world.advance(1s);
    return a;
  }
  direct_client& by_hand() { return c.world.by_hand(); }
  void expect_release(const attempt_pointer& a) {
    a->leave();
    ASSERT_TRUE(c.world.run_until([&] { return a->done(); }, 5s));
    EXPECT_FALSE(a->contender().release_result());
    check_end();
  }
};

struct large_locks_of_a_limited_client : large_locks {
  large_locks_of_a_limited_client() : large_locks{{.max_request_bytes = 4096}} {}
};

TEST_F(large_locks_of_a_limited_client, are_released) {
  const auto a = holder_of(12);
  const auto before = c.world.client(0).traffic();
  expect_release(a);
  EXPECT_EQ((c.world.client(0).traffic() - before).all(), 1);
}

TEST_F(large_locks, are_released_if_the_server_refuses_the_parent_records) {
  c.world.client(0).limit_requests(20'000);
  const auto a = holder_of(55);
  const auto connections = c.world.client(0).machine().connection();
  expect_release(a);
  EXPECT_EQ(c.world.client(0).machine().connection(), connections + 1);
}

TEST_F(large_locks, are_released_in_parts_if_the_server_accepts_less_than_before) {
  const auto a = holder_of(300);
  c.world.client(0).machine().limit_set_watches(10'000);
  c.world.client(0).limit_requests(20'000);
  const auto connections = c.world.client(0).machine().connection();
  expect_release(a);
  EXPECT_LE(c.world.client(0).machine().connection(), connections + 4);
}

// Every new connection suspends the other holds of the client.
TEST_F(large_locks, do_not_reconnect_in_a_tight_loop) {
  const auto a = holder_of(2);
  auto& link = c.world.client(0);
  const auto connections = link.machine().connection();
  link.limit_requests(600);  // much less than any real server accepts
  a->leave();
  c.world.advance(10s);
  EXPECT_FALSE(a->done());
  EXPECT_LT(link.machine().connection(), connections + 40);
  link.limit_requests(1'000'000);
  ASSERT_TRUE(c.gone(a));
  check_end();
}

}  // namespace
}  // namespace conclave::simulated
