// Limits for outstanding operations, and for the time that they wait for a connection.

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

TEST(limits, number_of_outstanding_operations) {
  auto options = nine_seconds();
  options.max_outstanding = 3;
  virtual_loop loop{options};
  loop.submit(get("/waiting"));
  loop.attach();
  loop.submit(get("/sent"));
  EXPECT_FALSE(loop.machine().full());
  loop.submit(get("/sent"));
  EXPECT_TRUE(loop.machine().full());
  EXPECT_EQ(loop.refused(get("/more")), error_code{errc::backlog_full});
  loop.answer(loop.take_request());
  EXPECT_FALSE(loop.machine().full());
  loop.submit(get("/more"));
}

TEST(limits, cancelled_operations_count_until_their_reply) {
  auto options = nine_seconds();
  options.max_outstanding = 1;
  virtual_loop loop{options};
  loop.attach();
  loop.cancel(loop.submit(get("/a")));
  EXPECT_EQ(loop.refused(get("/b")), error_code{errc::backlog_full});
  loop.answer_all();
  loop.submit(get("/b"));
}

TEST(limits, bytes_that_wait_for_a_connection) {
  auto options = nine_seconds();
  options.max_outstanding_bytes = 1000;
  virtual_loop loop{options};
  loop.submit(set("/a", std::string(500, 'x')));
  loop.submit(set("/b", std::string(500, 'x')));
  EXPECT_EQ(loop.refused(get("/c")), error_code{errc::backlog_full});
  loop.attach();
  loop.answer_all();
  loop.submit(get("/c"));
}

TEST(limits, bytes_that_wait_for_the_socket) {
  auto options = nine_seconds();
  options.max_outstanding_bytes = 1000;
  virtual_loop loop{options};
  loop.attach();
  loop.limit_socket(0);
  loop.submit(set("/a", std::string(1000, 'x')));
  EXPECT_EQ(loop.refused(get("/b")), error_code{errc::backlog_full});
  loop.limit_socket();
  loop.answer_all();
  loop.submit(get("/b"));
}

// A request stays in memory until its reply arrives, because it may have to be repeated.
TEST(limits, bytes_that_wait_for_a_reply) {
  auto options = nine_seconds();
  options.max_outstanding_bytes = 1000;
  virtual_loop loop{options};
  loop.attach();
  loop.submit(set("/a", std::string(1000, 'x')));
  EXPECT_EQ(loop.refused(get("/b")), error_code{errc::backlog_full});
  loop.answer_all();
  loop.submit(get("/b"));
}

TEST(limits, size_of_one_request) {
  auto options = nine_seconds();
  options.max_request_bytes = get("/a")->frame.size() - wire::frame_prefix;
  virtual_loop loop{options};
  loop.submit(get("/a"));
  EXPECT_EQ(loop.refused(get("/ab")), error_code{errc::too_large});
  loop.attach();
  loop.submit(get("/a"));
  EXPECT_EQ(loop.refused(get("/ab")), error_code{errc::too_large});
}

TEST(connect_wait, operations_wait_for_the_first_connection) {
  virtual_loop loop;
  const auto a = loop.submit(set("/a"));
  const auto b = loop.submit(get("/b"));
  EXPECT_EQ(loop.machine().outstanding(), 2u);
  loop.attach();
  EXPECT_EQ(loop.take_list(), (lines{"set /a", "get /b"}));
  EXPECT_TRUE(a->pending() && b->pending());
}

TEST(connect_wait, ends_with_not_connected) {
  auto options = nine_seconds();
  options.connect_wait = 2s;
  virtual_loop loop{options};
  const auto a = loop.submit(set("/a"));
  loop.advance(500ms);
  const auto b = loop.submit(get("/b"));
  loop.advance(1499ms);
  EXPECT_TRUE(a->pending());
  loop.advance(1ms);
  EXPECT_TRUE(a->failed(errc::not_connected));
  EXPECT_FALSE(a->ec == condition::outcome_unknown);
  EXPECT_TRUE(b->pending());
  loop.advance(500ms);
  EXPECT_TRUE(b->failed(errc::not_connected));
  EXPECT_EQ(loop.machine().outstanding(), 0u);
}

TEST(connect_wait, defaults_to_the_session_timeout) {
  virtual_loop loop;
  const auto op = loop.submit(get("/a"));
  loop.advance(8999ms);
  EXPECT_TRUE(op->pending());
  loop.advance(1ms);
  EXPECT_TRUE(op->failed(errc::not_connected));
}

TEST(connect_wait, does_not_apply_to_sent_requests) {
  auto options = nine_seconds();
  options.connect_wait = 2s;
  virtual_loop loop{options};
  const auto op = loop.submit(get("/a"));
  loop.attach();
  loop.advance(5s);
  EXPECT_TRUE(op->pending());
}

TEST(connect_wait, starts_again_for_a_repeated_read) {
  auto options = nine_seconds();
  options.connect_wait = 2s;
  virtual_loop loop{options};
  loop.attach();
  const auto op = loop.submit(get("/a"));
  loop.advance(5s);
  loop.lose_connection();
  loop.advance(1999ms);
  EXPECT_TRUE(op->pending());
  loop.advance(1ms);
  EXPECT_TRUE(op->failed(errc::not_connected));
}

TEST(connect_wait, frees_capacity_when_it_ends) {
  auto options = nine_seconds();
  options.max_outstanding_bytes = 1000;
  virtual_loop loop{options};
  loop.submit(set("/a", std::string(1000, 'x')));
  EXPECT_TRUE(loop.machine().full());
  loop.advance(9s);
  EXPECT_FALSE(loop.machine().full());
}

}  // namespace
}  // namespace conclave::session
