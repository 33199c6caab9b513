// Closing a session.

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

TEST(close, waits_for_replies_to_earlier_requests) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.close();
  const auto set_request = loop.take_request();
  const auto close_request = loop.take_request();
  EXPECT_EQ(close_request.type, wire::opcode::close_session);
  EXPECT_EQ(close_request.xid, set_request.xid + 1);
  EXPECT_TRUE(close_request.body.empty());
  loop.take_commands();
  loop.answer(set_request);
  EXPECT_TRUE(write->succeeded());
  EXPECT_FALSE(loop.machine().finished());
  loop.answer(close_request);
  EXPECT_TRUE(loop.machine().finished());
  EXPECT_EQ(loop.machine().state(), session_state::closed);
  EXPECT_EQ(loop.machine().session_id(), 0);
  EXPECT_EQ(loop.machine().session_deadline(), time_point::min());
  EXPECT_EQ(loop.take_commands(), lines{"disconnect"});
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "done set /a: ok", "closed"}));
}

TEST(close, removes_the_session_deadline_at_once) {
  virtual_loop loop;
  loop.attach();
  loop.submit(get("/a"));
  loop.close();
  EXPECT_EQ(loop.machine().state(), session_state::closed);
  EXPECT_EQ(loop.machine().session_deadline(), time_point::min());
  loop.answer(loop.take_request());
  EXPECT_EQ(loop.machine().session_deadline(), time_point::min());
}

TEST(close, nothing_can_be_submitted_afterwards) {
  virtual_loop loop;
  loop.attach();
  loop.close();
  EXPECT_EQ(loop.refused(get("/a")), error_code{errc::closed});
  loop.answer_all();
  EXPECT_EQ(loop.refused(get("/a")), error_code{errc::closed});
  EXPECT_TRUE(error_code{errc::closed} == condition::session_dead);
}

TEST(close, twice_has_no_further_effect) {
  virtual_loop loop;
  loop.attach();
  loop.close();
  loop.close();
  EXPECT_EQ(loop.take_list(), lines{"close"});
  loop.answer({1, {}, {}});
  loop.close();
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "closed"}));
}

TEST(close, before_the_first_connection) {
  virtual_loop loop;
  const auto op = loop.submit(get("/a"));
  loop.close();
  EXPECT_TRUE(op->failed(errc::closed));
  EXPECT_EQ(loop.machine().state(), session_state::closed);
  EXPECT_EQ(loop.take_commands(), (lines{"connect one:1", "disconnect"}));
  EXPECT_EQ(loop.machine().next_deadline(), time_point::max());
}

TEST(close, while_suspended) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  loop.submit(get("/w", w));
  loop.answer_all();
  const auto read = loop.submit(get("/a"));
  loop.lose_connection();
  loop.take_journal();
  loop.close();
  EXPECT_TRUE(read->failed(errc::closed));
  EXPECT_EQ(loop.take_journal(), (lines{"closed", "done get /a: closed"}));
  EXPECT_FALSE(loop.is_connecting());
}

TEST(close, without_a_reply_completes_after_a_third_of_the_timeout) {
  virtual_loop loop;
  loop.attach();
  loop.close();
  loop.advance(2999ms);
  EXPECT_FALSE(loop.machine().finished());
  loop.advance(1ms);
  EXPECT_TRUE(loop.machine().finished());
  EXPECT_EQ(loop.machine().state(), session_state::closed);
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "closed"}));
}

// A blocking close() would wait for days.
TEST(close, does_not_wait_for_an_extreme_session_timeout) {
  virtual_loop loop;
  loop.accept();
  loop.accept_session(first_session, std::numeric_limits<std::int32_t>::max());
  loop.close();
  loop.advance(9s);
  EXPECT_TRUE(loop.machine().finished());
}

TEST(close, completes_if_the_connection_is_lost) {
  virtual_loop loop;
  loop.attach();
  const auto read = loop.submit(get("/a"));
  loop.close();
  loop.lose_connection();
  EXPECT_TRUE(loop.machine().finished());
  EXPECT_EQ(loop.machine().state(), session_state::closed);
  EXPECT_EQ(read->completions, 1);
  EXPECT_TRUE(read->ec);
  EXPECT_FALSE(loop.is_connecting());
}

// The server may have executed the write. errc::closed would mean that it did not.
TEST(close, a_connection_loss_leaves_the_outcome_of_a_sent_write_unknown) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.close();
  loop.lose_connection();
  EXPECT_EQ(write->completions, 1);
  EXPECT_TRUE(write->ec == condition::outcome_unknown) << write->ec.message();
}

TEST(close, a_missing_reply_leaves_the_outcome_of_a_sent_write_unknown) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.close();
  loop.advance(3s);
  EXPECT_EQ(write->completions, 1);
  EXPECT_TRUE(write->ec == condition::outcome_unknown) << write->ec.message();
}

TEST(close, completes_on_a_reply_out_of_order) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.close();
  loop.take_request();
  loop.answer(loop.take_request());
  EXPECT_TRUE(loop.machine().finished());
  EXPECT_EQ(write->completions, 1);
  EXPECT_TRUE(write->ec);
}

// After close(), the user may have destroyed objects that the watchers use.
TEST(close, calls_no_more_watchers) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  loop.submit(add_watch("/r", watch_mode::recursive, w));
  loop.answer_all();
  loop.take_journal();
  loop.close();
  loop.answer_all();
  EXPECT_EQ(loop.take_journal(), lines{"closed"});
  EXPECT_EQ(loop.machine().watch_count(), 0u);
  EXPECT_EQ(loop.discarded(), 1);
}

TEST(close, events_and_pings_in_flight_are_accepted) {
  virtual_loop loop;
  loop.attach();
  loop.advance(3s);
  const auto ping = loop.take_request();
  loop.close();
  loop.event(watch_event::kind::changed, "/a");
  loop.answer(ping);
  loop.answer_all();
  EXPECT_TRUE(loop.machine().finished());
}

TEST(close, later_input_is_ignored) {
  virtual_loop loop;
  loop.attach();
  loop.close();
  loop.answer_all();
  loop.take_journal();
  loop.take_commands();
  loop.deliver(std::string(100, '\xff'));
  loop.machine().connected(loop.now());
  loop.machine().disconnected({}, loop.now());
  loop.machine().time_passed(loop.now() + 1h);
  loop.pump();
  EXPECT_TRUE(loop.take_journal().empty());
  EXPECT_TRUE(loop.take_commands().empty());
  EXPECT_TRUE(loop.machine().output().empty());
}

}  // namespace
}  // namespace conclave::session
