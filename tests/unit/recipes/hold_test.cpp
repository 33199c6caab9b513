// Holds and waiters when the connection is lost or the session expires.
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
      c.checker().expired(session);
      expired_at = c.world.now();
    };
  }
};
INSTANTIATE_TEST_SUITE_P(tickets, hold, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(hold, lasts_while_the_session_is_alive) {
  const auto a = holder();
  c.world.advance(10min);
  EXPECT_TRUE(a->holding());
  EXPECT_EQ(a->journal(), lines{"granted"});
}

// A program that exits closes its client right after the release.
TEST_P(hold, is_released_without_waiting_for_its_own_watch) {
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

TEST_P(hold, is_restored_after_its_node_was_verified) {
  const auto a = holder();
  first().disconnect();
  c.world.advance(10us);
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended"}));
  ASSERT_TRUE(c.run_until([&] { return first().is_connected(); }));
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended"}));
  const auto before = first().traffic();
  c.finish_pending_work();
  EXPECT_GE((first().traffic() - before).answers, 1);
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "restored"}));
  a->leave();
  check_end();
}

TEST_P(hold, is_lost_if_its_node_was_deleted_while_suspended) {
  for (const auto age : {0ms, 1000ms}) {
    const auto a = holder();
    c.world.advance(age);
    first().refuse_connections(true);
    first().disconnect();
    c.world.advance(20ms);
    c.world.by_hand().remove(a->path());
    first().refuse_connections(false);
    ASSERT_TRUE(c.gone(a));
    EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "lost node_deleted", "gone"}));
    check_end();
  }
}

// An error reply does not prove that the node exists.
TEST_P(hold, is_not_restored_if_the_reply_about_its_node_is_an_error) {
  const auto a = holder();
  first().disconnect();
  c.world.by_hand().remove(a->path());
  first().replace_reply(wire::opcode::exists, errc::operation_timeout);
  ASSERT_TRUE(c.gone(a));
  EXPECT_FALSE(first().fault_pending());
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "lost node_deleted", "gone"}));
  check_end();
}

// The client is busy with other requests.
TEST_P(hold, is_granted_watched_and_restored_with_a_full_backlog) {
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
  first().disconnect();
  c.finish_pending_work();
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "restored"}));
  fill();
  c.world.by_hand().remove(a->path());
  ASSERT_TRUE(c.gone(a));
  EXPECT_EQ(a->count("lost node_deleted"), 1);
  check_end();
}

TEST_P(hold, is_lost_before_the_server_can_expire_the_session) {
  const auto a = holder();
  const auto b = c.begin(1);
  c.world.advance(5s);
  first().refuse_connections(true);
  first().disconnect();
  ASSERT_TRUE(c.run_until([&] { return !a->holding(); }));
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "lost deadline_passed"}));
  EXPECT_EQ(expired_at, 0ms);
  EXPECT_FALSE(b->was_granted());
  ASSERT_TRUE(c.granted(b));
  EXPECT_GT(expired_at, a->ended_at);
  EXPECT_GE(b->granted_at, expired_at);
  EXPECT_EQ(c.checker().expiries_of_holders(), 1);
  first().refuse_connections(false);
  ASSERT_TRUE(c.gone(a));
  b->leave();
  check_end();
}

TEST_P(hold, is_lost_in_time_on_a_connection_without_traffic) {
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

TEST_P(hold, of_a_stopped_process_is_lost_when_it_is_resumed) {
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

TEST_P(hold, a_release_while_disconnected_is_sent_after_the_reconnect) {
  const auto a = holder();
  first().refuse_connections(true);
  first().disconnect();
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

TEST_P(hold, a_release_while_disconnected_ends_with_the_session) {
  const auto a = holder();
  first().refuse_connections(true);
  first().disconnect();
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

// A new hold, and one that watches its own node. The server deletes the node before it replies.
TEST_P(hold, is_lost_when_the_client_is_closed) {
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

// Closing the client also removes the deadline, but the reported reason must be the close.
TEST_P(hold, is_lost_when_the_client_is_closed_and_the_server_does_not_answer) {
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

// Events that arrived while the process was stopped are outdated.
TEST_P(hold, is_not_granted_after_the_deadline) {
  for (int i = 0; i < 8; ++i) {  // a resumed client handles input or timers first, at random
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

// The reply to the creation is the last frame before the session expires.
TEST_P(hold, is_not_granted_in_an_expired_session) {
  auto o = ten_seconds();
  o.connect_wait = 10min;
  contender_world long_wait{o, GetParam()};
  auto& link = long_wait.world.client(0);
  long_wait.world.by_hand().create("/locks");
  for (std::size_t n = 1; n < 4; ++n) {
    SCOPED_TRACE(n);
    long_wait.world.by_hand().create("/locks/one");
    link.disconnect_after_frames(direction::down, n);
    link.refuse_connections(true);
    const auto a = long_wait.begin(0);
    long_wait.world.advance(30s);
    if (a->was_granted()) break;  // the grant preceded the connection loss
    link.forget_fault();
    link.refuse_connections(false);
    ASSERT_TRUE(long_wait.granted(a)) << testing::PrintToString(a->journal());
    EXPECT_EQ(long_wait.children(), lines{a->name()});
    long_wait.finish_pending_work();
    EXPECT_EQ(a->journal(), lines{"granted"});
    a->leave();
    long_wait.finish_pending_work();
    long_wait.checker().expect_no_orphans();
    long_wait.world.by_hand().remove("/locks/one");  // so that the numbering restarts
  }
}

TEST_P(hold, a_waiter_starts_again_in_a_new_session) {
  const auto a = holder(1);
  const auto b = c.begin(0);
  c.world.advance(50ms);
  const auto old_path = b->path();
  first().refuse_connections(true);
  first().disconnect();
  c.world.advance(30s);
  EXPECT_EQ(c.children().size(), 1u);
  first().refuse_connections(false);
  c.finish_pending_work();
  EXPECT_EQ(b->journal(), lines{});
  EXPECT_NE(b->path(), old_path);
  EXPECT_EQ(c.children().size(), 2u);
  a->leave();
  ASSERT_TRUE(c.granted(b));
  EXPECT_EQ(b->session(), first().machine().session_id());
  b->leave();
  check_end();
}

// The waiter receives the watch event for its own node before the session event.
TEST_P(hold, a_stopped_waiter_starts_again_in_a_new_session) {
  const auto a = holder(1);
  const auto b = c.begin(0);
  c.world.advance(50ms);
  first().pause();
  c.world.advance(30s);
  first().resume();
  c.finish_pending_work();
  EXPECT_EQ(b->journal(), lines{});
  a->leave();
  ASSERT_TRUE(c.granted(b));
  b->leave();
  check_end();
}

TEST_P(hold, a_waiter_keeps_its_position_after_many_reconnects) {
  const auto a = holder(1);
  const auto b = c.begin(0);
  c.world.advance(20ms);
  const auto d = c.begin(2);
  for (int i = 0; i < 20; ++i) {
    first().disconnect({i % 2 == 0, false});
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

TEST_P(hold, a_waiter_fails_if_the_client_starts_no_new_session) {
  auto o = ten_seconds();
  o.renew_expired = false;
  contender_world without_renewal{o, GetParam()};
  const auto a = without_renewal.begin(1);
  ASSERT_TRUE(without_renewal.granted(a));
  const auto b = without_renewal.begin(0);
  without_renewal.world.advance(50ms);
  without_renewal.world.client(0).refuse_connections(true);
  without_renewal.world.client(0).disconnect();
  without_renewal.world.advance(30s);
  without_renewal.world.client(0).refuse_connections(false);
  ASSERT_TRUE(without_renewal.gone(b));
  EXPECT_EQ(b->journal(), (lines{"failed session_expired", "gone"}));
}

TEST_P(hold, waiting_for_a_connection_ends_after_connect_wait) {
  auto o = ten_seconds();
  o.connect_wait = 1s;
  contender_world short_wait{o, GetParam()};
  auto& link = short_wait.world.client(0);
  link.refuse_connections(true);
  link.disconnect();
  const auto a = short_wait.begin(0);
  ASSERT_TRUE(short_wait.gone(a));
  EXPECT_EQ(a->journal(), (lines{"failed not_connected", "gone"}));
  // The same after a lost reply. The node is removed later.
  link.refuse_connections(false);
  short_wait.world.by_hand().create("/locks");
  short_wait.world.by_hand().create("/locks/one");
  ASSERT_TRUE(short_wait.world.wait_until_connected());
  link.drop_reply(wire::opcode::create2);
  link.refuse_connections(true);
  const auto b = short_wait.begin(0);
  short_wait.world.advance(3s);
  EXPECT_EQ(b->journal(), lines{"failed not_connected"});
  EXPECT_EQ(short_wait.children().size(), 1u);
  link.refuse_connections(false);
  ASSERT_TRUE(short_wait.gone(b));
  EXPECT_TRUE(short_wait.children().empty());
}

// The connection is lost before the watch is set.
TEST_P(hold, watches_its_node_after_a_reconnect) {
  auto o = ten_seconds();
  o.connect_wait = 50ms;
  contender_world short_wait{o, GetParam()};
  auto& link = short_wait.world.client(0);
  const auto a = short_wait.begin(0);
  ASSERT_TRUE(short_wait.granted(a));
  link.refuse_connections(true);
  link.disconnect();
  short_wait.world.advance(1s);
  link.refuse_connections(false);
  short_wait.finish_pending_work();
  EXPECT_EQ(a->journal(), (lines{"granted", "suspended", "restored"}));
  short_wait.world.by_hand().remove(a->path());
  short_wait.world.advance(100ms);
  EXPECT_EQ(a->count("lost node_deleted"), 1);
}

// The server times out the read that sets the watch.
TEST_P(hold, watches_its_node_although_the_server_timed_out) {
  const auto a = holder();
  first().replace_reply(wire::opcode::get_data, errc::request_timeout);
  c.world.advance(1s);
  ASSERT_FALSE(first().fault_pending());
  c.world.by_hand().remove(a->path());
  c.world.advance(100ms);
  EXPECT_EQ(a->count("lost node_deleted"), 1);
}

}  // namespace
}  // namespace conclave::simulated
