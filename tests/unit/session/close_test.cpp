// Ending a session on purpose.

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

TEST(close, earlier_requests_are_answered_first) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.close();
  const auto set_request = loop.take_request();
  const auto close_request = loop.take_request();
  EXPECT_EQ(close_request.type, wire::opcode::close_session);
  EXPECT_EQ(close_request.xid, set_request.xid + 1);
  EXPECT_TRUE(close_request.body.empty());
  loop.take_wishes();
  loop.answer(set_request);
  EXPECT_TRUE(write->succeeded());
  EXPECT_FALSE(loop.machine().finished());
  loop.answer(close_request);
  EXPECT_TRUE(loop.machine().finished());
  EXPECT_EQ(loop.machine().state(), session_state::closed);
  EXPECT_EQ(loop.machine().session_id(), 0);
  EXPECT_EQ(loop.machine().session_deadline(), time_point::min());
  EXPECT_EQ(loop.take_wishes(), lines{"disconnect"});
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "done set /a: ok", "closed"}));
}

TEST(close, at_once_there_is_no_session_to_rely_on) {
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

TEST(close, twice_is_once) {
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
  EXPECT_EQ(loop.take_wishes(), (lines{"connect one:1", "disconnect"}));
  EXPECT_EQ(loop.machine().next_deadline(), time_point::max());
}

TEST(close, while_suspended) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  loop.submit(get("/w", w));
  loop.answer_all();
  const auto read = loop.submit(get("/a"));
  loop.cut();
  loop.take_journal();
  loop.close();
  EXPECT_TRUE(read->failed(errc::closed));
  EXPECT_EQ(loop.take_journal(), (lines{"closed", "done get /a: closed"}));
  EXPECT_FALSE(loop.wants_connection());
}

TEST(close, without_an_answer_ends_after_a_third_of_the_timeout) {
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

// A blocking close() waits for it.
TEST(close, an_absurd_timeout_of_the_servers_does_not_make_it_wait_for_days) {
  virtual_loop loop;
  loop.accept();
  loop.welcome(first_session, std::numeric_limits<std::int32_t>::max());
  loop.close();
  loop.advance(9s);
  EXPECT_TRUE(loop.machine().finished());
}

TEST(close, a_cut_instead_of_an_answer_ends_it) {
  virtual_loop loop;
  loop.attach();
  const auto read = loop.submit(get("/a"));
  loop.close();
  loop.cut();
  EXPECT_TRUE(loop.machine().finished());
  EXPECT_EQ(loop.machine().state(), session_state::closed);
  EXPECT_EQ(read->completions, 1);
  EXPECT_TRUE(read->ec);
  EXPECT_FALSE(loop.wants_connection());
}

// It was sent, and the server may have done it: closed alone would say that it was not.
TEST(close, a_cut_leaves_a_write_in_flight_unclear) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.close();
  loop.cut();
  EXPECT_EQ(write->completions, 1);
  EXPECT_TRUE(write->ec == condition::outcome_unknown) << write->ec.message();
}

TEST(close, no_answer_leaves_a_write_in_flight_unclear) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.close();
  loop.advance(3s);
  EXPECT_EQ(write->completions, 1);
  EXPECT_TRUE(write->ec == condition::outcome_unknown) << write->ec.message();
}

TEST(close, an_answer_out_of_order_ends_it) {
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

// Who closes a client may have let go of what its watchers use.
TEST(close, watchers_are_not_called_any_more) {
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

TEST(close, events_and_pings_on_their_way_do_no_harm) {
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

TEST(close, what_comes_afterwards_is_ignored) {
  virtual_loop loop;
  loop.attach();
  loop.close();
  loop.answer_all();
  loop.take_journal();
  loop.take_wishes();
  loop.deliver(std::string(100, '\xff'));
  loop.machine().connected(loop.now());
  loop.machine().disconnected({}, loop.now());
  loop.machine().time_passed(loop.now() + 1h);
  loop.pump();
  EXPECT_TRUE(loop.take_journal().empty());
  EXPECT_TRUE(loop.take_wishes().empty());
  EXPECT_TRUE(loop.machine().output().empty());
}

}  // namespace
}  // namespace conclave::session
