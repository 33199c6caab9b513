// Several locks at once: all of them or none.
#include <algorithm>

#include <gtest/gtest.h>

#include "one_lock.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

class several : public testing::TestWithParam<bool>, protected one_lock {
 protected:
  several() : one_lock{{.clients = 4}, GetParam()} {}
  hand& by_hand() { return c.world.by_hand(); }
  void SetUp() override { by_hand().create("/locks"); }
  recipes::lock_request of(std::vector<std::string> parents) {
    auto t = c.request;
    t.parents = std::move(parents);
    return t;
  }
};
INSTANTIATE_TEST_SUITE_P(tickets, several, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(several, in_different_order_never_deadlock) {
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

TEST_P(several, are_had_together_or_not_at_all) {
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

TEST_P(several, a_lost_reply_to_their_transaction_loses_nothing) {
  for (const auto parents : {2u, 3u})
    for (const bool request : {true, false})
      for (const cut_style how : {cut_style{false, false}, {true, true}}) {
        auto t = of({"/locks/a", "/locks/b", "/locks/c"});
        t.parents.resize(parents);
        for (const auto& p : t.parents) by_hand().create(p);
        auto& first = c.world.client(0);
        request ? first.swallow_request(opcode::multi, how)
                : first.swallow_reply(opcode::multi, how);
        const auto a = c.begin(0, t);
        ASSERT_TRUE(c.granted(a));
        for (std::size_t i = 0; i < parents; ++i)
          EXPECT_EQ(by_hand().children(t.parents[i]).size(), 1u);
        EXPECT_EQ(by_hand().get(a->path(1)).stat.czxid, a->token());
        request ? first.swallow_request(opcode::multi, how)
                : first.swallow_reply(opcode::multi, how);
        const auto b = c.begin(1, t);
        a->leave();
        ASSERT_TRUE(c.granted(b));
        b->leave();
        check_end();
      }
}

TEST_P(several, one_of_them_deleted_loses_the_hold_and_frees_the_others) {
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

// The look at them after a cut is cut off itself, and the one that was seen goes meanwhile.
TEST_P(several, go_on_after_a_cut_only_if_all_were_seen_behind_it) {
  const auto a = c.begin(0, of({"/locks/a", "/locks/b"}));
  ASSERT_TRUE(c.granted(a));
  c.quieten();
  auto& link = c.world.client(0);
  const auto looks = [&] { return link.traffic().of(opcode::exists); };
  const auto before = looks();
  link.cut();
  ASSERT_TRUE(c.run_until([&] { return looks() == before + 2; }));  // the first was answered
  link.cut();
  by_hand().remove(a->path(0));
  ASSERT_TRUE(c.gone(a));
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "lost node_deleted", "gone"}));
  check_end();
}

TEST_P(several, one_deleted_while_a_reply_is_lost_leaves_no_orphan) {
  auto t = of({"/locks/a", "/locks/b"});
  for (const std::size_t which : {0u, 1u}) {
    for (const auto& p : t.parents) by_hand().create(p);
    auto& first = c.world.client(0);
    first.swallow_reply(opcode::multi);
    first.refuse_connections(true);
    const auto a = c.begin(0, t);
    c.world.advance(20ms);
    ASSERT_EQ(by_hand().children(t.parents[which]).size(), 1u);
    by_hand().remove(t.parents[which] + "/" + by_hand().children(t.parents[which])[0]);
    first.refuse_connections(false);
    c.quieten();
    if (!a->done()) a->leave();
    check_end();
  }
}

TEST_P(several, none_is_had_where_the_path_of_one_cannot_be_made) {
  by_hand().create("/locks/closed", {}, {create_mode::persistent, read_only_acl()});
  for (const auto& paths :
       {lines{"/locks/a", "/locks/closed/b"}, {"/locks/closed/b", "/locks/z"}}) {
    const auto a = c.begin(0, of(paths));
    ASSERT_TRUE(c.world.run_until([&] { return a->done(); }, 10s));
    EXPECT_EQ(a->failure(), errc::no_auth);
  }
  check_end();
}

// The counter of one of them stands at its end, and its last name is taken.
TEST_P(several, wait_where_the_last_name_is_taken) {
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

TEST_P(several, waiters_of_one_that_leave_or_are_deleted_in_the_other_line) {
  const auto a = c.begin(0, of({"/locks/a"}));
  ASSERT_TRUE(c.granted(a));
  const auto b = c.begin(1, of({"/locks/a", "/locks/b"}));
  const auto d = c.begin(2, of({"/locks/b"}));
  c.world.advance(50ms);
  EXPECT_FALSE(d->was_granted());
  by_hand().remove(b->path(1));  // d is granted now, so b must not be
  ASSERT_TRUE(c.granted(d));
  a->leave();
  c.quieten();
  EXPECT_FALSE(b->holding());
  EXPECT_EQ(b->journal(), (lines{"failed waiter_node_deleted", "gone"}));
  d->leave();
  check_end();
}

// The event of the change uses up the watch that it was waited with in the first line.
TEST_P(several, waiters_whose_node_is_written_over_and_deleted_in_a_line_behind_them) {
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
  c.quieten();
  EXPECT_EQ(b->journal(), (lines{"failed waiter_node_deleted", "gone"}));
  check_end();
}

}  // namespace
}  // namespace conclave::simulated
