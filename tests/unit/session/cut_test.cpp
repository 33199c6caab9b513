// What becomes of requests when the connection ends before the answer.

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

TEST(cut, a_write_in_flight_is_unclear) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.cut();
  EXPECT_TRUE(write->failed(errc::connection_loss));
  EXPECT_TRUE(write->ec == condition::outcome_unknown);
  EXPECT_FALSE(write->ec == condition::session_dead);
  loop.attach();
  EXPECT_FALSE(loop.has_request());
}

TEST(cut, a_read_in_flight_is_repeated_with_a_new_xid) {
  virtual_loop loop;
  loop.attach();
  const auto read = loop.submit(get("/a"));
  const auto first = loop.take_request();
  loop.cut();
  EXPECT_TRUE(read->pending());
  loop.attach();
  const auto second = loop.take_request();
  EXPECT_NE(second.xid, first.xid);
  EXPECT_EQ(second.type, first.type);
  EXPECT_EQ(second.body, first.body);
  loop.answer(second);
  EXPECT_TRUE(read->succeeded());
}

TEST(cut, reads_keep_their_order) {
  virtual_loop loop;
  loop.attach();
  loop.submit(get("/1"));
  loop.submit(set("/2"));
  loop.submit(get("/3"));
  loop.cut();
  loop.submit(get("/4"));
  loop.attach();
  EXPECT_EQ(loop.take_list(), (lines{"get /1", "get /3", "get /4"}));
}

TEST(cut, the_old_answer_to_a_repeated_read_is_not_believed) {
  virtual_loop loop;
  loop.attach();
  const auto read = loop.submit(get("/a"));
  const auto first = loop.take_request();
  loop.cut();
  loop.attach();
  loop.answer(first);
  EXPECT_FALSE(read->succeeded());
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
}

TEST(cut, a_write_the_socket_never_took_is_repeated) {
  virtual_loop loop;
  loop.attach();
  loop.socket_takes(0);
  const auto write = loop.submit(set("/a"));
  loop.cut();
  EXPECT_TRUE(write->pending());
  loop.socket_takes();
  loop.attach();
  EXPECT_EQ(loop.take_list(), lines{"set /a"});
}

TEST(cut, one_byte_on_the_wire_makes_a_write_unclear) {
  const auto size = set("/a")->frame.size();
  for (const std::size_t taken : {std::size_t{1}, std::size_t{4}, size - 1, size}) {
    virtual_loop loop;
    loop.attach();
    loop.socket_takes(taken);
    const auto write = loop.submit(set("/a"));
    loop.cut();
    EXPECT_TRUE(write->failed(errc::connection_loss)) << taken;
    loop.socket_takes();
    loop.attach();
    EXPECT_FALSE(loop.has_request()) << taken;
  }
}

// It may depend on the one before it: nobody wants the second of two writes without the first.
TEST(cut, a_write_behind_an_unclear_one_is_not_sent) {
  virtual_loop loop;
  loop.attach();
  loop.socket_takes(set("/1")->frame.size());
  const auto first = loop.submit(set("/1"));
  const auto read = loop.submit(get("/2"));
  const auto second = loop.submit(set("/3"));
  loop.cut();
  EXPECT_TRUE(first->failed(errc::connection_loss));
  EXPECT_TRUE(second->failed(errc::not_connected));
  EXPECT_FALSE(second->ec == condition::outcome_unknown);
  EXPECT_TRUE(read->pending());
  loop.socket_takes();
  loop.attach();
  EXPECT_EQ(loop.take_list(), lines{"get /2"});
}

TEST(cut, an_independent_write_behind_an_unclear_one_is_sent_later) {
  virtual_loop loop;
  loop.attach();
  loop.socket_takes(set("/1")->frame.size());
  const auto first = loop.submit(set("/1"));
  auto write = set("/2");
  write->independent = true;
  const auto second = loop.submit(std::move(write));
  loop.cut();
  EXPECT_TRUE(first->failed(errc::connection_loss));
  EXPECT_TRUE(second->pending());
  loop.socket_takes();
  loop.attach();
  EXPECT_EQ(loop.take_list(), lines{"set /2"});
}

TEST(cut, only_bytes_of_this_connection_count) {
  virtual_loop loop;
  loop.attach();
  for (int i = 0; i < 10; ++i) loop.submit(set("/earlier"));
  loop.answer_all();
  loop.cut();
  loop.attach();
  loop.socket_takes(0);
  const auto write = loop.submit(set("/a"));
  loop.cut();
  EXPECT_TRUE(write->pending());
  loop.socket_takes();
  loop.attach();
  loop.answer_all();
  EXPECT_TRUE(write->succeeded());
}

TEST(cut, removing_watches_is_done_by_it) {
  virtual_loop loop;
  loop.attach();
  const auto sent = loop.submit(remove_watches("/a"));
  loop.socket_takes(0);
  const auto unsent = loop.submit(remove_watches("/b"));
  loop.cut();
  EXPECT_TRUE(sent->succeeded());
  EXPECT_TRUE(unsent->succeeded());
}

TEST(cut, a_timeout_and_a_protocol_error_are_cuts_too) {
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

// Perhaps it is the read that makes the server end every connection.
TEST(cut, a_read_is_not_repeated_for_ever) {
  virtual_loop loop;
  loop.attach();
  const auto read = loop.submit(get("/a"));
  int sent = 0;
  for (; read->pending() && sent < 100; ++sent) {
    EXPECT_EQ(loop.take_list(), lines{"get /a"});
    loop.cut();
    loop.attach();
  }
  EXPECT_EQ(sent, 9);
  EXPECT_EQ(read->completions, 1);
  EXPECT_TRUE(read->ec);
  EXPECT_FALSE(loop.has_request());
}

TEST(cut, half_a_frame_of_the_old_connection_is_forgotten) {
  virtual_loop loop;
  loop.attach();
  const auto read = loop.submit(get("/a"));
  loop.deliver(std::string("\0\0\0\20\0\0", 6));
  loop.cut();
  loop.attach();
  loop.answer(loop.take_request());
  EXPECT_TRUE(read->succeeded());
}

}  // namespace
}  // namespace conclave::session
