// Lost requests and replies. The session timeout is so long that no expiry removes leftover nodes.
#include <gtest/gtest.h>

#include "one_lock.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

struct setting {
  bool tickets;
  disconnect_style how;
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
  disconnect_style how() const { return GetParam().how; }
  opcode release() const { return GetParam().tickets ? opcode::multi : opcode::remove; }
  direct_client& by_hand() { return c.world.by_hand(); }
  client& first() { return c.world.client(0); }
  void SetUp() override {
    by_hand().create("/locks");
    by_hand().create("/locks/one");
  }
  void check_end() {
    one_lock::check_end();
    EXPECT_FALSE(first().fault_pending());
    EXPECT_TRUE(first().registered_nodes.empty());
  }
};
INSTANTIATE_TEST_SUITE_P(how, lost_reply, testing::ValuesIn(settings()), name_of_setting);

TEST_P(lost_reply, to_a_creation_the_node_is_found) {
  first().drop_reply(opcode::create2, how());
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

TEST_P(lost_reply, to_the_creation_of_a_waiter_keeps_its_position) {
  const auto a = holder(1);
  first().drop_reply(opcode::create2, how());
  const auto b = c.begin(0);
  c.world.advance(1500us);  // the node is created
  const auto d = c.begin(2);
  c.finish_pending_work();
  EXPECT_EQ(c.children().size(), 3u);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  EXPECT_FALSE(d->was_granted());
  b->leave();
  ASSERT_TRUE(c.granted(d));
  d->leave();
  check_end();
}

// The server executes the creation, but times out before it learns the result.
TEST_P(lost_reply, to_a_creation_inside_the_ensemble) {
  for (const auto answer : {errc::operation_timeout, errc::request_timeout}) {
    first().replace_reply(opcode::create2, answer);
    const auto a = holder(0);
    EXPECT_EQ(c.children().size(), 1u);
    a->leave();
    check_end();
    // The same for the requests that resolve the outcome.
    for (const auto asked : {opcode::sync, opcode::get_ephemerals, opcode::get_data}) {
      first().drop_reply(opcode::create2, how());
      const auto b = c.begin(0);
      ASSERT_TRUE(c.run_until([&] { return !first().fault_pending(); }));
      first().replace_reply(asked, answer);
      ASSERT_TRUE(c.granted(b)) << b->failure().message();
      EXPECT_EQ(c.children().size(), 1u);
      first().forget_fault();
      b->leave();
      check_end();
    }
  }
}

TEST_P(lost_reply, a_creation_that_did_not_arrive_is_repeated) {
  first().drop_request(opcode::create2, how());
  const auto a = holder(0);
  EXPECT_EQ(c.children(), lines{"lock-0000000000"});
  a->leave();
  check_end();
}

TEST_P(lost_reply, to_a_creation_while_others_of_the_same_session_wait) {
  const auto a = holder(0);
  const auto b = c.begin(0);
  c.world.advance(20ms);
  first().drop_reply(opcode::create2, how());
  const auto d = c.begin(0);
  c.finish_pending_work();
  EXPECT_EQ(c.children().size(), 3u);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  b->leave();
  ASSERT_TRUE(c.granted(d));
  d->leave();
  check_end();
}

TEST_P(lost_reply, to_two_creations_of_one_session) {
  first().drop_reply(opcode::create2, how());
  const auto a = c.begin(0);
  const auto b = c.begin(0);
  c.finish_pending_work();
  EXPECT_EQ(c.children().size(), 2u);
  EXPECT_NE(a->path(), b->path());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(c.run_until([&] { return a->holding() || b->holding(); }));
    (a->holding() ? a : b)->leave();
  }
  check_end();
}

TEST_P(lost_reply, to_a_creation_of_a_node_that_was_overwritten) {
  first().drop_reply(opcode::create2, how());
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

// The nodes cannot be assigned to the contenders. None of them may be left.
TEST_P(lost_reply, to_two_creations_of_nodes_that_were_overwritten) {
  first().drop_reply(opcode::create2, how());
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

TEST_P(lost_reply, to_a_creation_whose_caller_gives_up) {
  first().drop_reply(opcode::create2, how());
  const auto a = c.begin(0);
  c.world.advance(4ms);
  a->leave();
  ASSERT_TRUE(c.gone(a));
  EXPECT_FALSE(a->was_granted());
  EXPECT_TRUE(c.children().empty());
  check_end();
}

TEST_P(lost_reply, to_a_creation_and_to_each_request_that_resolves_it) {
  for (const auto again : {opcode::sync, opcode::get_ephemerals, opcode::get_data}) {
    first().drop_reply(opcode::create2, how());
    const auto a = c.begin(0);
    ASSERT_TRUE(c.run_until([&] { return !first().fault_pending(); }));
    first().drop_reply(again, how());
    ASSERT_TRUE(c.run_until([&] { return a->was_granted() || a->done(); }));
    EXPECT_TRUE(a->holding()) << static_cast<int>(again);
    EXPECT_EQ(c.children().size(), 1u);
    first().forget_fault();
    a->leave();
    check_end();
  }
}

// A server before ZooKeeper 3.6 does not know get_ephemerals. It closes the connection after such a
// request.
TEST_P(lost_reply, to_a_creation_on_an_old_server) {
  first().drop_reply(opcode::create2, how());
  const auto a = c.begin(0);
  ASSERT_TRUE(c.run_until([&] { return !first().fault_pending(); }));
  for (int connection = 0; connection < 20 && !a->was_granted(); ++connection) {
    first().replace_reply(opcode::get_ephemerals, errc::unimplemented);
    ASSERT_TRUE(c.run_until([&] { return !first().fault_pending() || a->was_granted(); }));
    if (!first().fault_pending()) first().disconnect(how());
  }
  first().forget_fault();
  ASSERT_TRUE(a->was_granted());
  EXPECT_EQ(first().traffic().of(opcode::get_ephemerals), 1);
  EXPECT_EQ(c.children(), lines{"lock-0000000000"});
  a->leave();
  check_end();
  // The client does not ask again.
  first().drop_reply(opcode::create2, how());
  const auto b = holder(0);
  EXPECT_EQ(first().traffic().of(opcode::get_ephemerals), 1);
  b->leave();
  check_end();
}

TEST_P(lost_reply, to_a_release_removes_only_that_node) {
  const auto a = holder(0);
  first().drop_reply(release(), how());
  a->leave();
  const auto b = holder(1);
  c.finish_pending_work();
  EXPECT_TRUE(a->done());
  EXPECT_EQ(c.children(), lines{b->name()});
  b->leave();
  check_end();
}

TEST_P(lost_reply, a_release_that_did_not_arrive_is_repeated) {
  const auto a = holder(0);
  first().drop_request(release(), how());
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
  first().drop_request(opcode::remove, how());
  b->leave();
  ASSERT_TRUE(c.gone(b));
  EXPECT_EQ(c.children(), lines{a->name()});
  a->leave();
  check_end();
}

TEST_P(lost_reply, to_a_release_and_another_session_has_a_node_of_that_name) {
  const auto a = holder(0);
  first().drop_reply(release(), how());
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
  c.finish_pending_work();
  EXPECT_TRUE(b->holding());
  b->leave();
  check_end();
}

TEST_P(lost_reply, to_a_release_and_the_same_session_has_a_node_of_that_name) {
  const auto a = holder(0);
  first().drop_reply(release(), how());
  a->leave();
  c.world.advance(1500us);
  ASSERT_TRUE(c.children().empty());
  by_hand().remove("/locks/one");
  by_hand().create("/locks/one");
  const auto b = holder(0);
  EXPECT_EQ(b->path(), a->path());
  ASSERT_TRUE(c.gone(a));
  c.finish_pending_work();
  EXPECT_TRUE(b->holding());
  EXPECT_EQ(c.children(), lines{b->name()});
  b->leave();
  check_end();
}

TEST_P(lost_reply, to_a_creation_and_the_parent_is_deleted) {
  first().drop_reply(opcode::create2, how());
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
