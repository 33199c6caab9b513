// Requests and replies that never arrive. Sessions live so long here that their end cannot tidy up.
#include <gtest/gtest.h>

#include "one_lock.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

struct setting {
  bool tickets;
  cut_style how;
};
std::string name_of_setting(const testing::TestParamInfo<setting>& i) {
  return std::string{i.param.tickets ? "tickets" : "lists"} +
         (i.param.how.requests_arrive ? "_late" : "") +
         (i.param.how.before_notices ? "_at_once" : "");
}
std::vector<setting> settings() {
  std::vector<setting> all;
  for (const bool tickets : {true, false})
    for (const bool late : {true, false})
      for (const bool at_once : {true, false}) all.push_back({tickets, {late, at_once}});
  return all;
}

class lost_reply : public testing::TestWithParam<setting>, protected one_lock {
 protected:
  lost_reply() : one_lock{{.clients = 3}, GetParam().tickets} {}
  cut_style how() const { return GetParam().how; }
  opcode release() const { return GetParam().tickets ? opcode::multi : opcode::remove; }
  hand& by_hand() { return c.world.by_hand(); }
  client& first() { return c.world.client(0); }
  void SetUp() override {
    by_hand().create("/locks");
    by_hand().create("/locks/one");
  }
  void check_end() {
    one_lock::check_end();
    EXPECT_FALSE(first().fault_pending());
    EXPECT_TRUE(first().claimed.empty());
  }
};
INSTANTIATE_TEST_SUITE_P(how, lost_reply, testing::ValuesIn(settings()), name_of_setting);

TEST_P(lost_reply, to_a_creation_the_node_is_found_again) {
  first().swallow_reply(opcode::create2, how());
  const auto a = holder(0);
  EXPECT_EQ(c.children(), lines{"lock-0000000000"});
  EXPECT_EQ(a->path(), "/locks/one/lock-0000000000");
  EXPECT_EQ(a->token(), by_hand().get(a->path()).stat.czxid);
  const auto b = c.begin(1);
  c.world.advance(50ms);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  b->leave();
  check_end();
}

TEST_P(lost_reply, to_a_creation_behind_others_keeps_the_place) {
  const auto a = holder(1);
  first().swallow_reply(opcode::create2, how());
  const auto b = c.begin(0);
  c.world.advance(1500us);  // it is in line
  const auto d = c.begin(2);
  c.quieten();
  EXPECT_EQ(c.children().size(), 3u);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  EXPECT_FALSE(d->was_granted());
  b->leave();
  ASSERT_TRUE(c.granted(d));
  d->leave();
  check_end();
}

// Done, but the server itself did not hear in time what became of it.
TEST_P(lost_reply, to_a_creation_within_the_ensemble) {
  for (const auto answer : {errc::operation_timeout, errc::request_timeout}) {
    first().falsify_reply(opcode::create2, answer);
    const auto a = holder(0);
    EXPECT_EQ(c.children().size(), 1u);
    a->leave();
    check_end();
    // And then to what is asked about it.
    for (const auto asked : {opcode::sync, opcode::get_ephemerals, opcode::get_data}) {
      first().swallow_reply(opcode::create2, how());
      const auto b = c.begin(0);
      ASSERT_TRUE(c.run_until([&] { return !first().fault_pending(); }));
      first().falsify_reply(asked, answer);
      ASSERT_TRUE(c.granted(b)) << b->failure().message();
      EXPECT_EQ(c.children().size(), 1u);
      first().forget_fault();
      b->leave();
      check_end();
    }
  }
}

TEST_P(lost_reply, a_creation_that_never_arrived_is_repeated) {
  first().swallow_request(opcode::create2, how());
  const auto a = holder(0);
  EXPECT_EQ(c.children(), lines{"lock-0000000000"});
  a->leave();
  check_end();
}

TEST_P(lost_reply, to_a_creation_while_its_siblings_of_the_same_session_wait) {
  const auto a = holder(0);
  const auto b = c.begin(0);
  c.world.advance(20ms);
  first().swallow_reply(opcode::create2, how());
  const auto d = c.begin(0);
  c.quieten();
  EXPECT_EQ(c.children().size(), 3u);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  b->leave();
  ASSERT_TRUE(c.granted(d));
  d->leave();
  check_end();
}

TEST_P(lost_reply, to_two_creations_of_one_session) {
  first().swallow_reply(opcode::create2, how());
  const auto a = c.begin(0);
  const auto b = c.begin(0);
  c.quieten();
  EXPECT_EQ(c.children().size(), 2u);
  EXPECT_NE(a->path(), b->path());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(c.run_until([&] { return a->holding() || b->holding(); }));
    (a->holding() ? a : b)->leave();
  }
  check_end();
}

TEST_P(lost_reply, to_a_creation_whose_data_was_written_over) {
  first().swallow_reply(opcode::create2, how());
  first().refuse_connections(true);
  const auto a = c.begin(0);
  c.world.advance(50ms);
  by_hand().set("/locks/one/lock-0000000000", "__REVOKE__");
  first().refuse_connections(false);
  ASSERT_TRUE(c.granted(a));
  EXPECT_EQ(c.children(), lines{"lock-0000000000"});
  a->leave();
  check_end();
}

// Then nobody can tell which is whose, and none may stay behind.
TEST_P(lost_reply, to_two_creations_whose_data_was_written_over) {
  first().swallow_reply(opcode::create2, how());
  first().refuse_connections(true);
  const auto a = c.begin(0);
  const auto b = c.begin(0);
  c.world.advance(50ms);
  for (const auto& name : c.children()) by_hand().set("/locks/one/" + name, "__REVOKE__");
  first().refuse_connections(false);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(c.run_until([&] { return a->holding() || b->holding(); }));
    (a->holding() ? a : b)->leave();
  }
  check_end();
}

TEST_P(lost_reply, to_a_creation_and_the_user_gives_up) {
  first().swallow_reply(opcode::create2, how());
  const auto a = c.begin(0);
  c.world.advance(4ms);
  a->leave();
  ASSERT_TRUE(c.gone(a));
  EXPECT_FALSE(a->was_granted());
  EXPECT_TRUE(c.children().empty());
  check_end();
}

TEST_P(lost_reply, to_a_creation_and_again_to_each_step_of_the_search) {
  for (const auto again : {opcode::sync, opcode::get_ephemerals, opcode::get_data}) {
    first().swallow_reply(opcode::create2, how());
    const auto a = c.begin(0);
    ASSERT_TRUE(c.run_until([&] { return !first().fault_pending(); }));
    first().swallow_reply(again, how());
    ASSERT_TRUE(c.run_until([&] { return a->was_granted() || a->done(); }));
    EXPECT_TRUE(a->holding()) << static_cast<int>(again);
    EXPECT_EQ(c.children().size(), 1u);
    first().forget_fault();
    a->leave();
    check_end();
  }
}

TEST_P(lost_reply, to_a_release_the_node_is_gone_and_nothing_else) {
  const auto a = holder(0);
  first().swallow_reply(release(), how());
  a->leave();
  const auto b = holder(1);
  c.quieten();
  EXPECT_TRUE(a->done());
  EXPECT_EQ(c.children(), lines{b->name()});
  b->leave();
  check_end();
}

TEST_P(lost_reply, a_release_that_never_arrived_is_repeated) {
  const auto a = holder(0);
  first().swallow_request(release(), how());
  const auto b = c.begin(1);
  c.world.advance(20ms);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  b->leave();
  check_end();
}

TEST_P(lost_reply, a_waiter_that_gives_up_repeats_its_removal) {
  const auto a = holder(1);
  const auto b = c.begin(0);
  c.world.advance(20ms);
  first().swallow_request(opcode::remove, how());
  b->leave();
  ASSERT_TRUE(c.gone(b));
  EXPECT_EQ(c.children(), lines{a->name()});
  a->leave();
  check_end();
}

TEST_P(lost_reply, to_a_release_whose_name_came_back_for_somebody_else) {
  const auto a = holder(0);
  first().swallow_reply(release(), how());
  first().refuse_connections(true);
  a->leave();
  c.world.advance(50ms);
  ASSERT_TRUE(c.children().empty());
  by_hand().remove("/locks/one");
  by_hand().create("/locks/one");
  const auto b = holder(1);
  ASSERT_EQ(b->path(), a->path());
  first().refuse_connections(false);
  ASSERT_TRUE(c.gone(a));
  EXPECT_EQ(c.children(), lines{b->name()});
  c.quieten();
  EXPECT_TRUE(b->holding());
  b->leave();
  check_end();
}

TEST_P(lost_reply, to_a_release_whose_name_came_back_for_the_same_session) {
  const auto a = holder(0);
  first().swallow_reply(release(), how());
  a->leave();
  c.world.advance(1500us);
  ASSERT_TRUE(c.children().empty());
  by_hand().remove("/locks/one");
  by_hand().create("/locks/one");
  const auto b = holder(0);
  EXPECT_EQ(b->path(), a->path());
  ASSERT_TRUE(c.gone(a));
  c.quieten();
  EXPECT_TRUE(b->holding());
  EXPECT_EQ(c.children(), lines{b->name()});
  b->leave();
  check_end();
}

TEST_P(lost_reply, to_a_creation_and_the_parent_is_made_again) {
  first().swallow_reply(opcode::create2, how());
  first().refuse_connections(true);
  const auto a = c.begin(0);
  c.world.advance(50ms);
  by_hand().remove("/locks/one/lock-0000000000");
  by_hand().remove("/locks/one");
  first().refuse_connections(false);
  ASSERT_TRUE(c.granted(a));
  EXPECT_EQ(c.children(), lines{"lock-0000000000"});
  a->leave();
  check_end();
}

}  // namespace
}  // namespace conclave::simulated
