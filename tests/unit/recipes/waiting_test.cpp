// Contenders in line: order, hand-off and its price, those who give up or are of another library.
#include <gtest/gtest.h>

#include "one_lock.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

class waiting : public testing::TestWithParam<bool>, protected one_lock {
 protected:
  waiting() : one_lock{{.clients = 5}, GetParam()} {}
  void SetUp() override {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create("/locks/one");
  }
  attempt_pointer waiter(std::size_t client) {
    auto a = c.begin(client);
    c.world.advance(20ms);
    EXPECT_FALSE(a->was_granted());
    return a;
  }
  void everybody_gets_it(const std::vector<attempt_pointer>& in_order) {
    for (const auto& a : in_order) {
      ASSERT_TRUE(c.granted(a)) << a->path();
      a->leave();
    }
    check_end();
  }
};
INSTANTIATE_TEST_SUITE_P(tickets, waiting, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(waiting, five_clients_are_granted_in_the_order_of_their_creation) {
  std::vector<attempt_pointer> all;
  for (std::size_t i = 0; i < 5; ++i) all.push_back(i == 0 ? holder() : waiter(i));
  everybody_gets_it(all);
}

TEST_P(waiting, several_of_one_client_are_granted_one_after_the_other) {
  std::vector<attempt_pointer> all;
  for (std::size_t i = 0; i < 6; ++i) all.push_back(c.begin(i % 2));
  c.world.advance(20ms);
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a->path() < b->path(); });
  everybody_gets_it(all);
}

TEST_P(waiting, a_middle_one_that_gives_up_grants_nobody) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2), e = waiter(3);
  d->leave();
  ASSERT_TRUE(c.gone(d));
  EXPECT_EQ(d->journal(), (lines{"failed cancelled", "gone"}));
  c.quieten();
  EXPECT_FALSE(b->was_granted() || e->was_granted());
  everybody_gets_it({a, b, e});
}

TEST_P(waiting, the_one_behind_the_holder_gives_up) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2), e = waiter(3);
  b->leave();
  c.quieten();
  EXPECT_FALSE(d->was_granted() || e->was_granted());
  everybody_gets_it({a, d, e});
}

TEST_P(waiting, all_before_give_up_and_then_the_holder_leaves) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2), e = waiter(3);
  d->leave();
  c.quieten();
  b->leave();
  c.quieten();
  EXPECT_FALSE(e->was_granted());
  everybody_gets_it({a, e});
}

TEST_P(waiting, a_dead_middle_one_grants_nobody) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2), e = waiter(3);
  c.world.client(2).close();
  c.quieten();
  EXPECT_TRUE(d->failure() == errc::closed || d->failure() == errc::session_expired)
      << name_of(d->failure());
  EXPECT_EQ(d->journal().back(), "gone");
  EXPECT_FALSE(b->was_granted() || e->was_granted());
  everybody_gets_it({a, b, e});
}

TEST_P(waiting, a_dead_holder_hands_the_lock_on) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2);
  c.world.client(0).close();
  everybody_gets_it({b, d});
  EXPECT_EQ(a->journal(), (lines{"granted", "lost closed", "gone"}));
}

TEST_P(waiting, holder_and_next_go_in_one_moment) {
  const auto a = holder();
  const auto b = waiter(1), d = waiter(2), e = waiter(3);
  a->leave();
  b->leave();
  everybody_gets_it({d, e});
}

TEST_P(waiting, a_contender_of_curator_before_us_is_waited_for) {
  hand curator{c.world.server()};
  const auto theirs = curator.create_numbered(
      "/locks/one/_c_12345678-1234-1234-1234-123456789012-lock-", "10.0.0.1");
  const auto b = waiter(1), d = waiter(2);
  c.world.by_hand().remove(theirs);
  everybody_gets_it({b, d});
}

TEST_P(waiting, a_contender_of_curator_between_ours_is_waited_for) {
  hand curator{c.world.server()};
  const auto a = holder();
  const auto theirs = curator.create_numbered(
      "/locks/one/_c_12345678-1234-1234-1234-123456789012-lock-", "10.0.0.1");
  const auto b = waiter(1);
  a->leave();
  c.quieten();
  EXPECT_FALSE(b->was_granted());
  curator.end();
  everybody_gets_it({b});
}

TEST_P(waiting, data_written_into_the_one_before_us_grants_nothing) {
  const auto a = holder();
  const auto b = waiter(1);
  for (int i = 0; i < 3; ++i) {
    c.world.by_hand().set(a->path(), "__REVOKE__" + std::to_string(i));
    c.quieten();
    EXPECT_FALSE(b->was_granted());
  }
  everybody_gets_it({a, b});
}

TEST_P(waiting, leaving_takes_the_watch_from_the_server) {
  const auto a = holder();
  const auto b = waiter(1);
  b->leave();
  c.quieten();
  EXPECT_EQ(c.world.client(1).machine().watch_count(), 0u);
  EXPECT_EQ(c.world.server().core().data_watches().watched_paths(), 1u);  // the holder its own
}

TEST_P(waiting, one_client_that_leaves_keeps_the_watch_of_its_other_contender) {
  const auto a = holder();
  hand curator{c.world.server()};
  // Both wait for the same node, since the one between goes.
  const auto between = waiter(2);
  const auto b = waiter(1);
  between->leave();
  c.quieten();
  const auto d = waiter(1);
  b->leave();
  c.quieten();
  everybody_gets_it({a, d});
}

TEST_P(waiting, one_that_is_not_patient_is_told_who_has_it_and_leaves_nothing) {
  const auto a = holder();
  auto t = c.request;
  t.if_contended = recipes::lock_request::on_contention::give_up;
  const auto b = c.begin(1, t);
  ASSERT_TRUE(c.gone(b));
  EXPECT_EQ(b->journal(), (lines{"failed lock_busy", "gone"}));
  EXPECT_EQ(b->contender().holder_path(), a->path());
  EXPECT_EQ(c.children(), lines{a->name()});
  a->leave();
  const auto d = c.begin(1, t);
  ASSERT_TRUE(c.granted(d));
  everybody_gets_it({d});
}

TEST_P(waiting, one_that_counts_is_told_how_many_are_before_it) {
  const auto a = holder();
  const auto b = waiter(1);
  auto t = c.request;
  t.reports_position = true;
  const auto d = c.begin(2, t);
  c.world.advance(20ms);
  EXPECT_EQ(d->journal(), lines{"enqueued 2"});
  everybody_gets_it({a, b, d});
  EXPECT_EQ(d->journal(), (lines{"enqueued 2", "granted", "gone"}));
}

TEST_P(waiting, one_that_does_not_wait_is_told_of_nobody) {
  const auto a = holder();
  auto t = c.request;
  t.reports_position = true;
  t.if_contended = recipes::lock_request::on_contention::give_up;
  const auto b = c.begin(1, t);
  c.world.advance(20ms);
  EXPECT_EQ(b->journal(), (lines{"failed lock_busy", "gone"}));
  everybody_gets_it({a});
}

TEST_P(waiting, strangers_are_ignored) {
  auto& hand = c.world.by_hand();
  hand.create("/locks/one/readme");
  hand.create("/locks/one/lock-");
  hand.create("/locks/one/lock-12");
  hand.create("/locks/one/leases");
  const auto a = holder();
  const auto b = waiter(1);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  b->leave();
  c.quieten();
  EXPECT_EQ(c.children().size(), 4u);
}

TEST_P(waiting, a_contender_of_another_layout_is_an_error) {
  hand kazoo{c.world.server()};
  kazoo.create_numbered("/locks/one/0123456789abcdef0123456789abcdef__lock__");
  const auto a = c.begin(0);
  ASSERT_TRUE(c.gone(a));
  EXPECT_EQ(a->journal(), (lines{"failed layout_mismatch", "gone"}));
  EXPECT_EQ(c.children().size(), 1u);
}

TEST_P(waiting, where_the_parent_may_not_be_written_the_lock_still_goes_on) {
  auto& hand = c.world.by_hand();
  for (const auto may : {permission::create | permission::remove | permission::read,
                         permission::create | permission::remove}) {
    c.request.parents = {"/locks/only" + std::to_string(may)};
    hand.create(c.request.parents[0], {},
                create_options{create_mode::persistent, {{may, "world", "anyone"}}});
    if (!(may & permission::read)) continue;  // then there is no list either
    const auto a = holder();
    const auto b = waiter(1), d = waiter(2);
    everybody_gets_it({a, b, d});
    EXPECT_EQ(hand.get(c.request.parents[0]).stat.version, 0);
  }
}

TEST_P(waiting, data_of_somebody_else_on_the_parent_stays) {
  auto& hand = c.world.by_hand();
  hand.set("/locks/one", "theirs");
  const auto a = holder();
  const auto b = waiter(1);
  everybody_gets_it({a, b});
  EXPECT_EQ(hand.get("/locks/one").data, "theirs");
}

TEST_P(waiting, a_record_of_another_parent_is_not_believed) {
  auto& hand = c.world.by_hand();
  const auto a = holder();
  const auto czxid = hand.get("/locks/one").stat.czxid;
  hand.set("/locks/one", "conclave 1 " + std::to_string(czxid + 1) + " 0\n");
  const auto b = waiter(1), d = waiter(2);
  hand.set("/locks/one", "conclave 1 " + std::to_string(czxid - 1) + " 5\n");
  b->leave();
  c.quieten();
  EXPECT_FALSE(d->was_granted());
  everybody_gets_it({a, d});
}

// What a release costs, whatever the number of those who wait.
class crowd : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(of, crowd, testing::Values(2, 50, 500));

TEST_P(crowd, a_release_wakes_the_next_and_the_one_behind_it_at_a_constant_cost) {
  contest c{{.clients = 10}};
  c.world.by_hand().create("/locks");
  c.world.by_hand().create("/locks/one");
  std::vector<attempt_pointer> all;
  for (std::size_t i = 0; i <= GetParam(); ++i) {
    all.push_back(c.begin(i % 10));
    c.world.advance(5ms);
  }
  c.quieten();
  for (std::size_t i = 0; i < 3 && i + 1 < all.size(); ++i) {
    std::vector<traffic> before;
    for (std::size_t k = 0; k < 10; ++k) before.push_back(c.world.client(k).traffic());
    ASSERT_TRUE(all[i]->holding());
    const auto began = c.world.now();
    all[i]->leave();
    ASSERT_TRUE(c.granted(all[i + 1]));
    // The release, and the event; one more round trip for the very first, who had no record.
    EXPECT_LE(all[i + 1]->granted_at - began, i == 0 ? 4ms : 2ms);
    c.world.advance(20ms);
    int requests = 0, events = 0, lists = 0;
    std::size_t bytes = 0;
    for (std::size_t k = 0; k < 10; ++k) {
      const auto t = c.world.client(k).traffic() - before[k];
      requests += t.all();
      events += t.events;
      lists += t.of(opcode::get_children2) + t.of(opcode::get_children);
      bytes += t.bytes_down;
    }
    EXPECT_LE(requests, i == 0 ? 3 : 2);  // the release, and the record read by the one behind
    EXPECT_LE(events, 3);  // of the deletion: to these two, and to whoever watched itself
    EXPECT_EQ(lists, 0);
    EXPECT_LT(bytes, 600u);
    EXPECT_EQ(c.referee().grants(), static_cast<int>(i) + 2);
  }
}

}  // namespace
}  // namespace conclave::simulated
