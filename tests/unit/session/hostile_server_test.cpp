// A peer that sends invalid data.

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;

TEST(hostile_server, frames_with_extreme_lengths) {
  for (const auto* prefix : {"\xff\xff\xff\xff", "\x80\x00\x00\x00", "\x7f\xff\xff\xff"}) {
    virtual_loop loop;
    loop.attach();
    loop.deliver(std::string_view{prefix, 4});
    EXPECT_EQ(loop.events().back().reason, error_code{errc::protocol_error});
    EXPECT_TRUE(loop.is_connecting());
  }
}

TEST(hostile_server, frames_too_short_for_a_header) {
  for (std::size_t size = 0; size < 16; ++size) {
    virtual_loop loop;
    loop.attach();
    std::string frame(4 + size, '\0');
    frame[3] = static_cast<char>(size);
    loop.deliver(frame);
    EXPECT_EQ(loop.events().back().reason, error_code{errc::protocol_error}) << size;
  }
}

TEST(hostile_server, truncated_events) {
  std::string event;
  wire::writer{event}(wire::reply_header{-1, -1, 0}, wire::watcher_event{1, 3, "/a"});
  for (std::size_t size = 16; size < event.size(); ++size) {
    virtual_loop loop;
    loop.attach();
    std::string frame(4, '\0');
    frame[3] = static_cast<char>(size);
    loop.deliver(frame + event.substr(0, size));
    EXPECT_EQ(loop.events().back().reason, error_code{errc::protocol_error}) << size;
  }
}

TEST(hostile_server, events_with_invalid_paths) {
  for (const auto path : {std::string_view{}, std::string_view{""}, std::string_view{"a"},
                          std::string_view{"no slash"}, std::string_view{"//"},
                          std::string_view{"a/b"}, std::string_view{"/\0/", 3}}) {
    virtual_loop loop;
    loop.attach();
    const auto w = loop.journal_watcher("w");
    loop.submit(add_watch("/a", watch_mode::recursive, w));
    loop.answer_all();
    for (int kind = 1; kind <= 4; ++kind) loop.event(kind, path);
    loop.event(watch_event::kind::changed, "/a");
    EXPECT_EQ(loop.take_journal().back(), "w changed /a") << path;
  }
}

// With a zxid that no server has reached, all correct servers would refuse the client.
TEST(hostile_server, a_refused_message_does_not_change_the_zxid) {
  virtual_loop loop;
  loop.attach();
  loop.submit(get("/a"));
  loop.send_frame(wire::reply_header{99, 0x7fffffffffffffff, 0});
  loop.accept();
  EXPECT_EQ(loop.last_handshake().last_zxid_seen, 0);
}

client_options with_small_replies() {
  auto options = nine_seconds();
  options.max_reply_bytes = 1000;
  return options;
}

// Other operations on the connection must not fail.
TEST(hostile_server, a_reply_above_the_limit_fails_only_its_call) {
  virtual_loop loop{with_small_replies()};
  loop.attach();
  const auto read = loop.submit(children("/large"));
  const auto behind = loop.submit(get("/small"));
  const auto asked = loop.take_request();
  std::string frame;
  wire::append_frame(frame, wire::reply_header{asked.xid, 5, 0}, std::string(100'000, 'x'));
  loop.deliver(std::string_view{frame}.substr(0, 19));
  EXPECT_TRUE(read->pending());
  loop.deliver(std::string_view{frame}.substr(19, 1));
  EXPECT_TRUE(read->failed(errc::reply_too_large));
  for (std::size_t at = 20; at < frame.size(); at += 999)
    loop.deliver(std::string_view{frame}.substr(at, 999));
  loop.answer_all();
  EXPECT_TRUE(behind->succeeded());
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  EXPECT_FALSE(loop.is_connecting());
}

TEST(hostile_server, an_operation_may_have_its_own_limit) {
  virtual_loop loop{with_small_replies()};
  loop.attach();
  auto op = get("/large");
  op->max_reply_bytes = 5000;
  const auto large = loop.submit(std::move(op));
  op = get("/larger");
  op->max_reply_bytes = 5000;
  const auto larger = loop.submit(std::move(op));
  loop.answer(loop.take_request(), std::string(4000, 'x'));
  loop.answer(loop.take_request(), std::string(6000, 'x'));
  EXPECT_TRUE(large->succeeded());
  EXPECT_TRUE(larger->failed(errc::reply_too_large));
  EXPECT_EQ(loop.machine().state(), session_state::connected);
}

TEST(hostile_server, a_reply_above_the_limit_leaves_the_outcome_of_its_write_unknown) {
  virtual_loop loop{with_small_replies()};
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.answer(loop.take_request(), std::string(4000, 'x'));
  EXPECT_TRUE(write->failed(errc::connection_loss));
  EXPECT_EQ(loop.machine().state(), session_state::connected);
}

// Without a request, the frame cannot be a reply.
TEST(hostile_server, an_unexpected_frame_above_the_limit_ends_the_connection) {
  for (const std::int32_t xid : {-1, -2, 99}) {
    virtual_loop loop{with_small_replies()};
    loop.attach();
    const auto read = loop.submit(get("/a"));
    loop.send_frame(wire::reply_header{xid, 5, 0}, std::string(4000, 'x'));
    EXPECT_EQ(loop.events().back().reason, error_code{errc::protocol_error}) << xid;
  }
}

TEST(hostile_server, a_malformed_reply_fails_its_read) {
  virtual_loop loop;
  loop.attach();
  auto op = get("/a");
  op->malformed_reply = true;
  const auto read = loop.submit(std::move(op));
  for (int connections = 0; connections < 3 && read->pending(); ++connections) {
    loop.answer(loop.take_request());
    EXPECT_EQ(loop.machine().state(), session_state::suspended);
    loop.attach();
  }
  EXPECT_TRUE(read->failed(errc::protocol_error));
}

TEST(hostile_server, a_malformed_reply_leaves_the_outcome_of_its_write_unknown) {
  virtual_loop loop;
  loop.attach();
  auto op = set("/a");
  op->malformed_reply = true;
  const auto write = loop.submit(std::move(op));
  loop.answer(loop.take_request());
  EXPECT_TRUE(write->ec == condition::outcome_unknown);
  loop.attach();
  EXPECT_FALSE(loop.has_request());
}

TEST(hostile_server, a_tiny_timeout_does_not_stop_the_clock) {
  for (const std::int32_t timeout_ms : {1, 2, 3}) {
    virtual_loop loop;
    loop.accept();
    loop.accept_session(first_session, timeout_ms);
    loop.advance(1s);
    SUCCEED();
  }
}

TEST(hostile_server, the_largest_timeout_does_not_overflow) {
  virtual_loop loop;
  loop.accept();
  loop.accept_session(first_session, std::numeric_limits<std::int32_t>::max());
  EXPECT_GT(loop.machine().next_deadline(), loop.now());
  EXPECT_GT(loop.machine().session_deadline(), loop.now());
}

TEST(hostile_server, bytes_before_the_connection_are_ignored) {
  virtual_loop loop;
  loop.deliver("early");
  EXPECT_TRUE(loop.is_connecting());
  loop.attach();
  EXPECT_EQ(loop.machine().state(), session_state::connected);
}

}  // namespace
}  // namespace conclave::session
