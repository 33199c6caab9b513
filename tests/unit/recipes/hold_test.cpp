// What becomes of a hold, and of a place in the line, when the connection or the session ends.
#include <gtest/gtest.h>

#include "one_lock.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

world_options ten_seconds() {
  world_options o;
  o.clients = 3;
  o.session_timeout = 10s;
  return o;
}

class hold : public testing::TestWithParam<bool>, protected one_lock {
 protected:
  hold() : one_lock{ten_seconds(), GetParam()} {}
  client& first() { return c.world.client(0); }
  instant expired_at{0};
  void SetUp() override {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create("/locks/one");
    c.world.expired = [this](std::int64_t session) {
      c.referee().expired(session);
      expired_at = c.world.now();
    };
  }
};
INSTANTIATE_TEST_SUITE_P(tickets, hold, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(hold, lasts_as_long_as_the_session_is_kept_alive) {
  const auto a = holder();
  c.world.advance(10min);
  EXPECT_TRUE(a->holding());
  EXPECT_EQ(a->journal(), lines{"granted"});
}

// A program that ends closes its client right behind the release.
TEST_P(hold, is_released_at_once_while_it_sets_its_watch) {
  const auto a = holder();
  const auto before = first().traffic();
  ASSERT_TRUE(
      c.run_until([&] { return (first().traffic() - before).of(wire::opcode::get_data) == 1; }));
  a->leave();
  EXPECT_EQ((first().traffic() - before).answers, 0);
  EXPECT_EQ(
      (first().traffic() - before).of(GetParam() ? wire::opcode::multi : wire::opcode::remove), 1);
  ASSERT_TRUE(c.gone(a));
  check_end();
  EXPECT_EQ(first().machine().watch_count(), 0u);
}

TEST_P(hold, is_suspended_and_restored_behind_a_look_at_its_node) {
  const auto a = holder();
  first().cut();
  c.world.advance(10us);
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended"}));
  ASSERT_TRUE(c.run_until([&] { return first().attached(); }));
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended"}));
  const auto before = first().traffic();
  c.quieten();
  EXPECT_GE((first().traffic() - before).answers, 1);
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "restored"}));
  a->leave();
  check_end();
}

TEST_P(hold, whose_node_went_while_it_was_suspended_is_lost_and_never_restored) {
  for (const auto age : {0ms, 1000ms}) {
    const auto a = holder();
    c.world.advance(age);
    first().refuse_connections(true);
    first().cut();
    c.world.advance(20ms);
    c.world.by_hand().remove(a->path());
    first().refuse_connections(false);
    ASSERT_TRUE(c.gone(a));
    EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "lost node_deleted", "gone"}));
    check_end();
  }
}

// An answer that tells nothing about its node is not a good one.
TEST_P(hold, is_restored_only_when_its_node_was_seen) {
  const auto a = holder();
  first().cut();
  c.world.by_hand().remove(a->path());
  first().falsify_reply(wire::opcode::exists, errc::operation_timeout);
  ASSERT_TRUE(c.gone(a));
  EXPECT_FALSE(first().fault_pending());
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "lost node_deleted", "gone"}));
  check_end();
}

// As a busy client is.
TEST_P(hold, is_had_watched_and_restored_with_a_full_backlog) {
  const auto fill = [&] {
    const recipes::session_context::scope inside{first()};
    while (!first().machine().full())
      static_cast<void>(
          recipes::send(std::shared_ptr<recipes::session_context>{first().shared_from_this()}, {},
                        requests::exists(first().defaults(), "/x", {})));
  };
  fill();
  const auto a = c.begin(0);
  ASSERT_TRUE(c.granted(a));
  fill();
  c.world.advance(200ms);
  fill();
  first().cut();
  c.quieten();
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "restored"}));
  fill();
  c.world.by_hand().remove(a->path());
  ASSERT_TRUE(c.gone(a));
  EXPECT_EQ(a->count("lost node_deleted"), 1);
  check_end();
}

TEST_P(hold, is_lost_before_the_server_may_end_the_session) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(5s);
  first().refuse_connections(true);
  first().cut();
  ASSERT_TRUE(c.run_until([&] { return !a->holding(); }));
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "lost deadline_passed"}));
  EXPECT_EQ(expired_at, 0ms);
  EXPECT_FALSE(b->was_granted());
  ASSERT_TRUE(c.granted(b));
  EXPECT_GT(expired_at, a->ended_at);
  EXPECT_GE(b->granted_at, expired_at);
  EXPECT_EQ(c.referee().expiries_of_holders(), 1);
  first().refuse_connections(false);
  ASSERT_TRUE(c.gone(a));
  b->leave();
  check_end();
}

TEST_P(hold, on_a_silent_link_is_lost_before_the_server_may_end_the_session) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(5s);
  first().stall(true);
  ASSERT_TRUE(c.granted(b));
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "lost deadline_passed"}));
  EXPECT_LT(a->ended_at, expired_at);
  first().stall(false);
  ASSERT_TRUE(c.gone(a));
  b->leave();
  check_end();
}

TEST_P(hold, of_a_process_that_stood_still_is_over_when_it_goes_on) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(5s);
  first().pause();
  ASSERT_TRUE(c.granted(b));
  first().resume();
  c.world.advance(1ns);
  EXPECT_FALSE(a->holding());
  ASSERT_TRUE(c.gone(a));
  EXPECT_EQ(a->count("lost deadline_passed") + a->count("lost session_expired"), 1);
  b->leave();
  check_end();
}

TEST_P(hold, released_without_a_connection_is_released_when_there_is_one) {
  const auto a = holder();
  first().refuse_connections(true);
  first().cut();
  c.world.advance(20ms);
  a->leave();
  const auto b = c.begin(1);
  c.world.advance(1s);
  EXPECT_FALSE(a->done());
  first().refuse_connections(false);
  ASSERT_TRUE(c.granted(b));
  EXPECT_EQ(expired_at, 0ms);
  EXPECT_TRUE(a->done());
  b->leave();
  check_end();
}

TEST_P(hold, released_without_a_connection_ends_with_its_session) {
  const auto a = holder();
  first().refuse_connections(true);
  first().cut();
  c.world.advance(20ms);
  a->leave();
  const auto b = c.begin(1);
  ASSERT_TRUE(c.granted(b));
  first().refuse_connections(false);
  ASSERT_TRUE(c.gone(a));
  const auto d = c.begin(0);
  check_end();
  b->leave();
  ASSERT_TRUE(c.granted(d));
}

TEST_P(hold, survives_a_restart_of_the_server) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(100ms);
  c.world.stop_server();
  c.world.advance(5s);
  c.world.start_server();
  c.world.advance(5s);
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "restored"}));
  EXPECT_FALSE(b->was_granted());
  a->leave();
  ASSERT_TRUE(c.granted(b));
  b->leave();
  check_end();
}

// A new hold and one that watches its own node, which the server deletes before it answers.
TEST_P(hold, ends_with_the_client) {
  for (const auto age : {0ms, 1000ms}) {
    const auto closing = age == 0ms ? 0u : 1u;
    const auto a = holder(closing);
    c.world.advance(age);
    c.world.client(closing).close();
    ASSERT_TRUE(c.gone(a));
    EXPECT_EQ(a->journal(), (lines{"granted", "lost closed", "gone"})) << age.count();
    EXPECT_FALSE(a->holding());
    const auto b = c.begin(closing);
    ASSERT_TRUE(c.gone(b));
    EXPECT_EQ(b->journal(), (lines{"failed closed", "gone"}));
  }
}

// The deadline is gone as soon as the client is being closed, but that is not why the hold ends.
TEST_P(hold, ends_with_the_client_whose_server_does_not_answer) {
  const auto a = holder();
  first().stall(true);
  first().close();
  c.world.advance(1s);
  EXPECT_FALSE(first().machine().finished());
  EXPECT_EQ(a->count("lost closed"), 1);
  first().stall(false);
  ASSERT_TRUE(c.gone(a));
  EXPECT_EQ(a->journal(), (lines{"granted", "lost closed", "gone"}));
}

// Nobody is granted anything after its time: what came in while the process stood still is old.
TEST_P(hold, does_not_begin_when_its_time_is_up) {
  for (int i = 0; i < 8; ++i) {  // whether it first reads or first looks at the clock
    const auto a = holder(1);
    const auto b = c.begin(0);
    c.world.advance(50ms);
    first().pause();
    a->leave();
    c.world.advance(30s);
    const auto d = holder(2);
    first().resume();
    c.world.advance(5s);
    EXPECT_FALSE(b->was_granted());
    d->leave();
    ASSERT_TRUE(c.granted(b));
    b->leave();
    check_end();
  }
}

// The answer to its creation was the last that came before the session ended.
TEST_P(hold, does_not_begin_in_a_session_that_is_over) {
  auto o = ten_seconds();
  o.connect_wait = 10min;
  contest patient{o, GetParam()};
  auto& link = patient.world.client(0);
  patient.world.by_hand().create("/locks");
  for (std::size_t n = 1; n < 4; ++n) {
    SCOPED_TRACE(n);
    patient.world.by_hand().create("/locks/one");
    link.cut_after_frames(direction::down, n);
    link.refuse_connections(true);
    const auto a = patient.begin(0);
    patient.world.advance(30s);
    if (a->was_granted()) break;  // it held the lock before the cut, and was told
    link.forget_fault();
    link.refuse_connections(false);
    ASSERT_TRUE(patient.granted(a)) << testing::PrintToString(a->journal());
    EXPECT_EQ(patient.children(), lines{a->name()});
    patient.quieten();
    EXPECT_EQ(a->journal(), lines{"granted"});
    a->leave();
    patient.quieten();
    patient.referee().expect_no_orphans();
    patient.world.by_hand().remove(
        "/locks/one");  // so that the next one has the first ticket again
  }
}

TEST_P(hold, a_waiter_begins_again_in_a_new_session) {
  const auto a = holder(1);
  const auto b = c.begin(0);
  c.world.advance(50ms);
  const auto old_path = b->path();
  first().refuse_connections(true);
  first().cut();
  c.world.advance(30s);
  EXPECT_EQ(c.children().size(), 1u);
  first().refuse_connections(false);
  c.quieten();
  EXPECT_EQ(b->journal(), lines{});
  EXPECT_NE(b->path(), old_path);
  EXPECT_EQ(c.children().size(), 2u);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  EXPECT_EQ(b->session(), first().machine().session_id());
  b->leave();
  check_end();
}

// Its own node's end is told by an event before it hears of the session's.
TEST_P(hold, a_waiter_whose_session_ends_on_a_silent_link_begins_again) {
  const auto a = holder(1);
  const auto b = c.begin(0);
  c.world.advance(50ms);
  first().pause();
  c.world.advance(30s);
  first().resume();
  c.quieten();
  EXPECT_EQ(b->journal(), lines{});
  a->leave();
  ASSERT_TRUE(c.granted(b));
  b->leave();
  check_end();
}

TEST_P(hold, a_waiter_keeps_its_place_over_many_reconnects) {
  const auto a = holder(1);
  const auto b = c.begin(0);
  c.world.advance(20ms);
  const auto d = c.begin(2);
  for (int i = 0; i < 20; ++i) {
    first().cut({i % 2 == 0, false});
    c.world.advance(std::chrono::milliseconds{i * 37});
  }
  a->leave();
  ASSERT_TRUE(c.granted(b));
  EXPECT_FALSE(d->was_granted());
  b->leave();
  ASSERT_TRUE(c.granted(d));
  d->leave();
  check_end();
}

TEST_P(hold, a_waiter_without_a_new_session_fails) {
  auto o = ten_seconds();
  o.renew_expired = false;
  contest final_one{o, GetParam()};
  const auto a = final_one.begin(1);
  ASSERT_TRUE(final_one.granted(a));
  const auto b = final_one.begin(0);
  final_one.world.advance(50ms);
  final_one.world.client(0).refuse_connections(true);
  final_one.world.client(0).cut();
  final_one.world.advance(30s);
  final_one.world.client(0).refuse_connections(false);
  ASSERT_TRUE(final_one.gone(b));
  EXPECT_EQ(b->journal(), (lines{"failed session_expired", "gone"}));
}

TEST_P(hold, nobody_waits_longer_for_a_connection_than_the_client_was_told_to) {
  auto o = ten_seconds();
  o.connect_wait = 1s;
  contest impatient{o, GetParam()};
  auto& link = impatient.world.client(0);
  link.refuse_connections(true);
  link.cut();
  const auto a = impatient.begin(0);
  ASSERT_TRUE(impatient.gone(a));
  EXPECT_EQ(a->journal(), (lines{"failed not_connected", "gone"}));
  // One whose reply was lost is told in time, too, and its node is removed later.
  link.refuse_connections(false);
  impatient.world.by_hand().create("/locks");
  impatient.world.by_hand().create("/locks/one");
  ASSERT_TRUE(impatient.world.attach_all());
  link.swallow_reply(wire::opcode::create2);
  link.refuse_connections(true);
  const auto b = impatient.begin(0);
  impatient.world.advance(3s);
  EXPECT_EQ(b->journal(), lines{"failed not_connected"});
  EXPECT_EQ(impatient.children().size(), 1u);
  link.refuse_connections(false);
  ASSERT_TRUE(impatient.gone(b));
  EXPECT_TRUE(impatient.children().empty());
}

// There was no connection when it wanted to leave its watch.
TEST_P(hold, watches_its_node_as_soon_as_it_can) {
  auto o = ten_seconds();
  o.connect_wait = 50ms;
  contest impatient{o, GetParam()};
  auto& link = impatient.world.client(0);
  const auto a = impatient.begin(0);
  ASSERT_TRUE(impatient.granted(a));
  link.refuse_connections(true);
  link.cut();
  impatient.world.advance(1s);
  link.refuse_connections(false);
  impatient.quieten();
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "restored"}));
  impatient.world.by_hand().remove(a->path());
  impatient.world.advance(100ms);
  EXPECT_EQ(a->count("lost node_deleted"), 1);
}

// The server itself did not hear in time what became of the look that was to leave a watch.
TEST_P(hold, watches_its_node_though_the_server_was_too_slow_for_that) {
  const auto a = holder();
  first().falsify_reply(wire::opcode::get_data, errc::request_timeout);
  c.world.advance(1s);
  ASSERT_FALSE(first().fault_pending());
  c.world.by_hand().remove(a->path());
  c.world.advance(100ms);
  EXPECT_EQ(a->count("lost node_deleted"), 1);
}

}  // namespace
}  // namespace conclave::simulated
