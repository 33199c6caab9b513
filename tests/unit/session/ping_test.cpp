// Keeping a quiet connection alive, and noticing a dead one. The timeout is 9 s.

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

TEST(ping, after_a_third_of_the_timeout_without_a_request) {
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

TEST(ping, only_one_at_a_time) {
  virtual_loop loop;
  loop.attach();
  loop.advance(5999ms);
  EXPECT_EQ(loop.take_list(), lines{"ping"});
}

TEST(ping, no_second_one_while_the_server_says_other_things) {
  virtual_loop loop;
  loop.attach();
  loop.advance(5s);
  loop.event(watch_event::kind::changed, "/a");
  loop.advance(5s);
  loop.machine().time_passed(loop.now());  // earlier than it asked for
  loop.pump();
  EXPECT_EQ(loop.take_list(), lines{"ping"});
}

TEST(ping, again_after_an_answer) {
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

TEST(ping, not_while_requests_flow) {
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

TEST(ping, for_hours) {
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
  loop.take_wishes();
  loop.advance(5999ms);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  loop.advance(1ms);
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "suspended"}));
  EXPECT_EQ(loop.events().back().reason, boost::system::errc::timed_out);
  EXPECT_EQ(loop.take_wishes(), lines{"connect two:2"});
}

TEST(silence, is_broken_by_any_bytes) {
  virtual_loop loop;
  loop.attach();
  loop.advance(5s);
  loop.event(watch_event::kind::changed, "/nobody/watches");
  loop.advance(5999ms);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  loop.advance(1ms);
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
}

TEST(silence, is_not_broken_by_our_own_requests) {
  virtual_loop loop;
  loop.attach();
  for (int i = 0; i < 6; ++i) {
    loop.submit(get("/a"));
    loop.advance(1s);
  }
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
}

TEST(silence, a_new_connection_starts_counting_anew) {
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

TEST(ping, an_answer_nobody_asked_for_is_a_protocol_error) {
  virtual_loop loop;
  loop.attach();
  loop.answer({wire::special_xid::ping, {}, {}});
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
  EXPECT_EQ(loop.events().back().reason, error_code{errc::protocol_error});
}

}  // namespace
}  // namespace conclave::session
