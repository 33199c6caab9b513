// Pings keep an idle connection alive and detect a dead one. The session timeout is 9 s.

#include <chrono>
#include <string>
#include <vector>

#include <boost/system/errc.hpp>
#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

TEST(ping, is_sent_after_a_third_of_the_timeout_without_a_request) {
  virtual_loop loop;
  loop.attach();
  loop.advance(2999ms);
  EXPECT_FALSE(loop.has_request());
  loop.advance(1ms);
  const auto ping = loop.take_request();
  EXPECT_EQ(ping.type, wire::opcode::ping);
  EXPECT_EQ(ping.xid, wire::special_xid::ping);
  EXPECT_TRUE(ping.body.empty());
}

TEST(ping, only_one_is_pending) {
  virtual_loop loop;
  loop.attach();
  loop.advance(5999ms);
  EXPECT_EQ(loop.take_list(), lines{"ping"});
}

TEST(ping, no_second_one_is_sent_while_other_frames_arrive) {
  virtual_loop loop;
  loop.attach();
  loop.advance(5s);
  loop.event(watch_event::kind::changed, "/a");
  loop.advance(5s);
  loop.machine().time_passed(loop.now());  // before its deadline
  loop.pump();
  EXPECT_EQ(loop.take_list(), lines{"ping"});
}

TEST(ping, is_sent_again_after_the_reply) {
  virtual_loop loop;
  loop.attach();
  loop.advance(3s);
  loop.advance(100ms);
  loop.answer(loop.take_request());
  loop.advance(2899ms);
  EXPECT_FALSE(loop.has_request());
  loop.advance(1ms);
  EXPECT_EQ(loop.take_list(), lines{"ping"});
}

TEST(ping, is_not_sent_while_requests_are_sent) {
  virtual_loop loop;
  loop.attach();
  for (int i = 0; i < 10; ++i) {
    loop.advance(2s);
    loop.submit(get("/a"));
    EXPECT_EQ(loop.take_request().type, wire::opcode::get_data);
    loop.answer({i + 1, {}, {}});
  }
  EXPECT_EQ(loop.machine().state(), session_state::connected);
}

TEST(ping, keeps_a_session_alive_for_hours) {
  virtual_loop loop;
  loop.attach();
  for (int pings = 0; pings < 1200; ++pings) {
    loop.advance(3s);
    loop.answer(loop.take_request());
    ASSERT_FALSE(loop.has_request());
  }
  EXPECT_EQ(loop.take_journal(), lines{"connected"});
}

TEST(silence, of_two_thirds_of_the_timeout_ends_the_connection) {
  virtual_loop loop;
  loop.attach();
  loop.take_commands();
  loop.advance(5999ms);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  loop.advance(1ms);
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "suspended"}));
  EXPECT_EQ(loop.events().back().reason, boost::system::errc::timed_out);
  EXPECT_EQ(loop.take_commands(), lines{"connect two:2"});
}

TEST(silence, ends_with_any_received_byte) {
  virtual_loop loop;
  loop.attach();
  loop.advance(5s);
  loop.event(watch_event::kind::changed, "/nobody/watches");
  loop.advance(5999ms);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  loop.advance(1ms);
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
}

TEST(silence, does_not_end_with_sent_requests) {
  virtual_loop loop;
  loop.attach();
  for (int i = 0; i < 6; ++i) {
    loop.submit(get("/a"));
    loop.advance(1s);
  }
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
}

TEST(silence, a_new_connection_restarts_the_timer) {
  virtual_loop loop;
  loop.attach();
  loop.advance(6s);
  loop.advance(2s);
  loop.attach();
  loop.advance(2999ms);
  EXPECT_FALSE(loop.has_request());
  loop.advance(1ms);
  EXPECT_EQ(loop.take_list(), lines{"ping"});
  loop.advance(2999ms);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
}

// The process is stopped for less and for more than the silence limit and the session timeout.
TEST(silence, without_a_pending_request_does_not_end_the_connection) {
  for (const auto pause : {5999ms, 6001ms, 8000ms, 9000ms, 3'600'000ms}) {
    virtual_loop loop;
    loop.attach();
    loop.stop_for(pause);
    EXPECT_EQ(loop.machine().state(), session_state::connected) << pause.count();
    const auto ping = loop.take_request();
    EXPECT_EQ(ping.type, wire::opcode::ping);
    loop.answer(ping);
    loop.advance(2999ms);
    EXPECT_EQ(loop.take_journal(), lines{"connected"}) << pause.count();
  }
}

TEST(silence, after_a_late_request_is_allowed_for_a_third_of_the_timeout) {
  virtual_loop loop;
  loop.attach();
  loop.stop_for(20s);
  EXPECT_EQ(loop.take_list(), lines{"ping"});
  loop.advance(2999ms);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  loop.advance(1ms);
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
}

// A suspended computer stops the server together with the client.
TEST(silence, a_stop_restarts_the_timer_of_a_pending_request) {
  virtual_loop loop;
  loop.attach();
  loop.advance(1s);
  const auto read = loop.submit(get("/a"));
  loop.stop_for(20s);
  loop.advance(2999ms);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  loop.answer(loop.take_request());
  EXPECT_TRUE(read->succeeded());
  EXPECT_EQ(loop.machine().state(), session_state::connected);
}

TEST(silence, a_request_right_after_a_stop_restarts_the_timer) {
  virtual_loop loop;
  loop.attach();
  loop.stop_without_a_timer(6s);
  const auto read = loop.submit(get("/a"));
  loop.stop_for(1ms);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  loop.answer(loop.take_request());
  EXPECT_TRUE(read->succeeded());
}

TEST(silence, a_stop_does_not_move_the_session_deadline) {
  virtual_loop loop;
  loop.attach();
  const auto deadline = loop.machine().session_deadline();
  loop.stop_for(20s);
  EXPECT_EQ(loop.machine().session_deadline(), deadline);
  EXPECT_LT(deadline, loop.now());
}

TEST(ping, an_unexpected_reply_is_a_protocol_error) {
  virtual_loop loop;
  loop.attach();
  loop.answer({wire::special_xid::ping, {}, {}});
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
  EXPECT_EQ(loop.events().back().reason, error_code{errc::protocol_error});
}

}  // namespace
}  // namespace conclave::session
