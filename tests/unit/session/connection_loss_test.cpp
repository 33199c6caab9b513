// Requests whose connection is lost before the reply.

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

TEST(connection_loss, the_outcome_of_a_sent_write_is_unknown) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.lose_connection();
  EXPECT_TRUE(write->failed(errc::connection_loss));
  EXPECT_TRUE(write->ec == condition::outcome_unknown);
  EXPECT_FALSE(write->ec == condition::session_dead);
  loop.attach();
  EXPECT_FALSE(loop.has_request());
}

TEST(connection_loss, a_sent_read_is_repeated_with_a_new_xid) {
  virtual_loop loop;
  loop.attach();
  const auto read = loop.submit(get("/a"));
  const auto first = loop.take_request();
  loop.lose_connection();
  EXPECT_TRUE(read->pending());
  loop.attach();
  const auto second = loop.take_request();
  EXPECT_NE(second.xid, first.xid);
  EXPECT_EQ(second.type, first.type);
  EXPECT_EQ(second.body, first.body);
  loop.answer(second);
  EXPECT_TRUE(read->succeeded());
}

TEST(connection_loss, reads_keep_their_order) {
  virtual_loop loop;
  loop.attach();
  loop.submit(get("/1"));
  loop.submit(set("/2"));
  loop.submit(get("/3"));
  loop.lose_connection();
  loop.submit(get("/4"));
  loop.attach();
  EXPECT_EQ(loop.take_list(), (lines{"get /1", "get /3", "get /4"}));
}

TEST(connection_loss, an_old_reply_to_a_repeated_read_is_ignored) {
  virtual_loop loop;
  loop.attach();
  const auto read = loop.submit(get("/a"));
  const auto first = loop.take_request();
  loop.lose_connection();
  loop.attach();
  loop.answer(first);
  EXPECT_FALSE(read->succeeded());
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
}

// For example a fenced transaction whose lock was lost meanwhile.
TEST(connection_loss, an_operation_that_became_invalid_while_it_waited_is_not_sent) {
  virtual_loop loop;
  loop.attach();
  const auto refusal = std::make_shared<error_code>();
  const auto fenced = [&](std::string_view path) {
    auto op = set(path);
    op->refused_with = refusal;
    return op;
  };
  loop.limit_socket(0);
  const auto not_sent = loop.submit(fenced("/1"));
  loop.lose_connection();
  loop.limit_socket();
  const auto waiting = loop.submit(fenced("/2"));
  loop.submit(set("/3"));
  *refusal = errc::lock_lost;
  EXPECT_TRUE(not_sent->pending());
  EXPECT_TRUE(waiting->pending());
  loop.attach();
  EXPECT_EQ(loop.take_list(), lines{"set /3"});
  EXPECT_TRUE(not_sent->failed(errc::lock_lost));
  EXPECT_TRUE(waiting->failed(errc::lock_lost));
}

TEST(connection_loss, a_write_that_was_not_sent_is_repeated) {
  virtual_loop loop;
  loop.attach();
  loop.limit_socket(0);
  const auto write = loop.submit(set("/a"));
  loop.lose_connection();
  EXPECT_TRUE(write->pending());
  loop.limit_socket();
  loop.attach();
  EXPECT_EQ(loop.take_list(), lines{"set /a"});
}

TEST(connection_loss, one_sent_byte_makes_the_outcome_of_a_write_unknown) {
  const auto size = set("/a")->frame.size();
  for (const std::size_t taken : {std::size_t{1}, std::size_t{4}, size - 1, size}) {
    virtual_loop loop;
    loop.attach();
    loop.limit_socket(taken);
    const auto write = loop.submit(set("/a"));
    loop.lose_connection();
    EXPECT_TRUE(write->failed(errc::connection_loss)) << taken;
    loop.limit_socket();
    loop.attach();
    EXPECT_FALSE(loop.has_request()) << taken;
  }
}

// The second write may depend on the first.
TEST(connection_loss, a_write_after_one_with_an_unknown_outcome_is_not_sent) {
  virtual_loop loop;
  loop.attach();
  loop.limit_socket(set("/1")->frame.size());
  const auto first = loop.submit(set("/1"));
  const auto read = loop.submit(get("/2"));
  const auto second = loop.submit(set("/3"));
  loop.lose_connection();
  EXPECT_TRUE(first->failed(errc::connection_loss));
  EXPECT_TRUE(second->failed(errc::not_connected));
  EXPECT_FALSE(second->ec == condition::outcome_unknown);
  EXPECT_TRUE(read->pending());
  loop.limit_socket();
  loop.attach();
  EXPECT_EQ(loop.take_list(), lines{"get /2"});
}

TEST(connection_loss, an_independent_write_after_one_with_an_unknown_outcome_is_sent_later) {
  virtual_loop loop;
  loop.attach();
  loop.limit_socket(set("/1")->frame.size());
  const auto first = loop.submit(set("/1"));
  auto write = set("/2");
  write->independent = true;
  const auto second = loop.submit(std::move(write));
  loop.lose_connection();
  EXPECT_TRUE(first->failed(errc::connection_loss));
  EXPECT_TRUE(second->pending());
  loop.limit_socket();
  loop.attach();
  EXPECT_EQ(loop.take_list(), lines{"set /2"});
}

TEST(connection_loss, only_bytes_of_this_connection_count) {
  virtual_loop loop;
  loop.attach();
  for (int i = 0; i < 10; ++i) loop.submit(set("/earlier"));
  loop.answer_all();
  loop.lose_connection();
  loop.attach();
  loop.limit_socket(0);
  const auto write = loop.submit(set("/a"));
  loop.lose_connection();
  EXPECT_TRUE(write->pending());
  loop.limit_socket();
  loop.attach();
  loop.answer_all();
  EXPECT_TRUE(write->succeeded());
}

TEST(connection_loss, completes_the_removal_of_watches) {
  virtual_loop loop;
  loop.attach();
  const auto sent = loop.submit(remove_watches("/a"));
  loop.limit_socket(0);
  const auto unsent = loop.submit(remove_watches("/b"));
  loop.lose_connection();
  EXPECT_TRUE(sent->succeeded());
  EXPECT_TRUE(unsent->succeeded());
}

TEST(connection_loss, includes_timeouts_and_protocol_errors) {
  virtual_loop loop;
  loop.attach();
  const auto first = loop.submit(set("/a"));
  loop.advance(6s);
  EXPECT_TRUE(first->failed(errc::connection_loss));
  loop.attach();
  const auto second = loop.submit(set("/a"));
  loop.deliver(std::string(4, '\xff'));
  EXPECT_TRUE(second->failed(errc::connection_loss));
}

// The read itself may make the server close every connection.
TEST(connection_loss, a_read_is_repeated_only_a_limited_number_of_times) {
  virtual_loop loop;
  loop.attach();
  const auto read = loop.submit(get("/a"));
  int sent = 0;
  for (; read->pending() && sent < 100; ++sent) {
    EXPECT_EQ(loop.take_list(), lines{"get /a"});
    loop.lose_connection();
    loop.attach();
  }
  EXPECT_EQ(sent, 9);
  EXPECT_EQ(read->completions, 1);
  EXPECT_TRUE(read->ec);
  EXPECT_FALSE(loop.has_request());
}

TEST(connection_loss, a_partial_frame_of_the_old_connection_is_discarded) {
  virtual_loop loop;
  loop.attach();
  const auto read = loop.submit(get("/a"));
  loop.deliver(std::string("\0\0\0\20\0\0", 6));
  loop.lose_connection();
  loop.attach();
  loop.answer(loop.take_request());
  EXPECT_TRUE(read->succeeded());
}

}  // namespace
}  // namespace conclave::session
