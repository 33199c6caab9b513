// The deadline before which the server cannot have expired the session. The session timeout is 9 s.
// The deadline is a tenth earlier.

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

TEST(session_deadline, is_in_the_past_without_a_session) {
  virtual_loop loop;
  EXPECT_EQ(loop.machine().session_deadline(), time_point::min());
  loop.accept();
  EXPECT_EQ(loop.machine().session_deadline(), time_point::min());
}

TEST(session_deadline, counts_from_the_sending_of_the_handshake) {
  virtual_loop loop;
  loop.accept();
  const auto sent = loop.now();
  loop.advance(2s);
  loop.accept_session();
  EXPECT_EQ(loop.machine().session_deadline(), sent + 8100ms);
}

TEST(session_deadline, counts_from_the_sending_of_the_last_answered_request) {
  virtual_loop loop;
  loop.attach();
  loop.advance(1s);
  const auto sent = loop.now();
  loop.submit(get("/a"));
  loop.advance(1s);
  loop.answer_all();
  EXPECT_EQ(loop.machine().session_deadline(), sent + 8100ms);
}

TEST(session_deadline, counts_from_the_sending_of_an_answered_ping) {
  virtual_loop loop;
  loop.attach();
  loop.advance(3s);
  const auto sent = loop.now();
  loop.advance(1s);
  loop.answer_all();
  EXPECT_EQ(loop.machine().session_deadline(), sent + 8100ms);
}

TEST(session_deadline, is_not_extended_by_requests_without_a_reply) {
  virtual_loop loop;
  loop.attach();
  const auto deadline = loop.machine().session_deadline();
  for (int i = 0; i < 5; ++i) {
    loop.advance(1s);
    loop.submit(get("/a"));
  }
  EXPECT_EQ(loop.machine().session_deadline(), deadline);
}

TEST(session_deadline, is_not_extended_by_events) {
  virtual_loop loop;
  loop.attach();
  const auto deadline = loop.machine().session_deadline();
  loop.advance(1s);
  loop.event(watch_event::kind::changed, "/a");
  EXPECT_EQ(loop.machine().session_deadline(), deadline);
}

TEST(session_deadline, is_not_reduced_by_an_older_request) {
  virtual_loop loop;
  loop.attach();
  loop.advance(1s);
  loop.submit(get("/a"));
  const auto older = loop.take_request();
  loop.advance(2s);
  loop.advance(1s);
  const auto ping_sent = loop.now();
  loop.answer(loop.take_request());
  EXPECT_EQ(loop.machine().session_deadline(), ping_sent + 8100ms);
  loop.answer(older);
  EXPECT_EQ(loop.machine().session_deadline(), ping_sent + 8100ms);
}

TEST(session_deadline, does_not_change_while_suspended) {
  virtual_loop loop;
  loop.attach();
  const auto deadline = loop.machine().session_deadline();
  loop.advance(1s);
  loop.lose_connection();
  loop.accept();
  loop.advance(1s);
  EXPECT_EQ(loop.machine().session_deadline(), deadline);
}

TEST(session_deadline, a_repeated_read_counts_from_its_second_sending) {
  virtual_loop loop;
  loop.attach();
  loop.submit(get("/a"));
  loop.advance(1s);
  loop.lose_connection();
  loop.advance(1s);
  loop.attach();
  const auto sent = loop.now();
  loop.advance(1s);
  loop.answer_all();
  EXPECT_EQ(loop.machine().session_deadline(), sent + 8100ms);
}

TEST(session_deadline, is_not_reached_on_an_idle_connection) {
  virtual_loop loop;
  loop.attach();
  for (int i = 0; i < 1000; ++i) {
    loop.advance(100ms);
    if (loop.has_request()) {
      loop.advance(400ms);
      loop.answer_all();
    }
    ASSERT_GT(loop.machine().session_deadline(), loop.now());
  }
}

// Replies of a server without a quorum prove nothing about the session.
TEST(session_deadline, is_not_extended_by_a_read_only_server) {
  auto options = nine_seconds();
  options.allow_read_only = true;
  virtual_loop loop{options};
  loop.attach();
  const auto deadline = loop.machine().session_deadline();
  loop.advance(1s);
  loop.lose_connection();
  loop.accept();
  loop.accept_session(first_session, 9000, true);
  loop.submit(get("/a"));
  loop.answer_all();
  EXPECT_EQ(loop.machine().session_deadline(), deadline);
}

TEST(session_deadline, is_not_extended_by_a_longer_timeout_of_a_read_only_server) {
  auto options = nine_seconds();
  options.allow_read_only = true;
  virtual_loop loop{options};
  loop.attach();
  const auto deadline = loop.machine().session_deadline();
  loop.lose_connection();
  loop.accept();
  loop.accept_session(first_session, 30'000, true);
  EXPECT_EQ(loop.machine().session_deadline(), deadline);
}

// A follower forwards the leader's reply. The next handshake confirms the expiry.
TEST(session_deadline, has_passed_when_a_reply_reports_an_expired_session) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.answer_error(loop.take_request(), errc::session_expired);
  EXPECT_TRUE(write->failed(errc::session_expired));
  EXPECT_EQ(loop.machine().session_deadline(), time_point::min());
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
  loop.attach();
  EXPECT_GT(loop.machine().session_deadline(), loop.now()) << "the session was still alive";
}

// The reply ends its connection once, as malformed. It has no effect on the next connection.
TEST(session_deadline, a_malformed_reply_about_an_expired_session_ends_one_connection) {
  virtual_loop loop;
  loop.attach();
  auto write = set("/a");
  write->malformed_reply = true;
  loop.submit(std::move(write));
  loop.answer_error(loop.take_request(), errc::session_expired);
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
  loop.attach();
  EXPECT_EQ(loop.machine().state(), session_state::connected);
}

TEST(session_deadline, does_not_exist_with_a_read_only_server) {
  auto options = nine_seconds();
  options.allow_read_only = true;
  virtual_loop loop{options};
  loop.accept();
  loop.accept_session(first_session, 9000, true);
  EXPECT_EQ(loop.machine().session_deadline(), time_point::min());
}

TEST(session_deadline, has_passed_after_an_expiry) {
  virtual_loop loop;
  loop.attach();
  loop.lose_connection();
  loop.accept();
  loop.refuse_session();
  EXPECT_EQ(loop.machine().session_deadline(), time_point::min());
}

}  // namespace
}  // namespace conclave::session
