// The first two messages of a connection.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

std::string hex(std::string_view bytes) {
  std::string digits;
  for (const unsigned char c : bytes) {
    digits += "0123456789abcdef"[c >> 4];
    digits += "0123456789abcdef"[c & 15];
  }
  return digits;
}

TEST(handshake, bytes_of_a_new_session) {
  machine m{connect_string::parse("one:1"), nine_seconds(), 0};
  const time_point now{1h};
  m.start(now);
  EXPECT_TRUE(std::holds_alternative<machine::connect_to>(m.take_command()));
  EXPECT_TRUE(m.output().empty());
  m.connected(now);
  EXPECT_EQ(hex(m.output()),
            "0000002d"  // length
            "00000000"
            "0000000000000000"  // version, last zxid
            "00002328"
            "0000000000000000"  // 9000 ms, no session
            "00000010"
            "00000000000000000000000000000000"  // no password
            "00");                              // not read-only
}

TEST(handshake, accepts_a_read_only_server_if_configured) {
  auto options = nine_seconds();
  options.allow_read_only = true;
  virtual_loop loop{options};
  loop.accept();
  EXPECT_EQ(loop.last_handshake().read_only, true);
}

TEST(handshake, starts_a_session) {
  virtual_loop loop;
  EXPECT_EQ(loop.machine().state(), session_state::connecting);
  EXPECT_EQ(loop.machine().session_id(), 0);
  loop.accept();
  EXPECT_EQ(loop.last_handshake().session_id, 0);
  EXPECT_EQ(loop.last_handshake().timeout_ms, 9000);
  EXPECT_EQ(loop.last_handshake().password, std::string(16, '\0'));
  EXPECT_EQ(loop.last_handshake().read_only, false);
  EXPECT_EQ(loop.machine().state(), session_state::connecting);
  loop.accept_session(0x77);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  EXPECT_EQ(loop.machine().session_id(), 0x77);
  EXPECT_FALSE(loop.machine().read_only());
  EXPECT_EQ(loop.take_journal(), lines{"connected"});
  EXPECT_EQ(loop.events().back().session_id, 0x77);
}

TEST(handshake, uses_the_timeout_of_the_server) {
  virtual_loop loop;
  EXPECT_EQ(loop.machine().session_timeout(), 9s);
  loop.accept();
  loop.accept_session(first_session, 30'000);
  EXPECT_EQ(loop.machine().session_timeout(), 30s);
  loop.advance(9999ms);
  EXPECT_FALSE(loop.has_request());
  loop.advance(1ms);
  EXPECT_EQ(loop.take_list(), lines{"ping"});
}

TEST(handshake, every_connection_requests_the_configured_timeout) {
  virtual_loop loop;
  loop.accept();
  loop.accept_session(first_session, 4000);
  loop.lose_connection();
  loop.accept();
  EXPECT_EQ(loop.last_handshake().timeout_ms, 9000);
}

TEST(handshake, old_servers_omit_the_last_byte) {
  virtual_loop loop;
  loop.accept();
  loop.accept_session(first_session, 9000, std::nullopt);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  EXPECT_FALSE(loop.machine().read_only());
}

TEST(handshake, may_arrive_byte_by_byte) {
  virtual_loop loop;
  loop.accept();
  std::string bytes;
  wire::append_frame(bytes, wire::connect_response{0, 9000, 5, "sixteen letters!"},
                     wire::read_only_flag{});
  for (const char c : bytes) {
    EXPECT_EQ(loop.machine().state(), session_state::connecting);
    loop.deliver({&c, 1});
  }
  EXPECT_EQ(loop.machine().session_id(), 5);
}

TEST(handshake, may_arrive_together_with_later_frames) {
  virtual_loop loop;
  const auto w = loop.journal_watcher("w");
  loop.attach();
  loop.submit(get("/a", w));
  loop.answer_all();
  loop.lose_connection();
  loop.accept();
  loop.take_journal();
  std::string bytes;
  wire::append_frame(bytes, wire::connect_response{0, 9000, first_session, "sixteen letters!"},
                     wire::read_only_flag{});
  wire::append_frame(bytes, wire::reply_header{-1, -1, 0}, wire::watcher_event{3, 3, "/a"});
  loop.deliver(bytes);
  EXPECT_EQ(loop.take_journal(), (lines{"reconnected", "w changed /a"}));
}

TEST(handshake, a_session_of_a_read_only_server_is_not_resumed) {
  auto options = nine_seconds();
  options.allow_read_only = true;
  virtual_loop loop{options};
  loop.accept();
  loop.accept_session(0x55, 9000, true);
  EXPECT_TRUE(loop.machine().read_only());
  loop.lose_connection();
  loop.accept();
  EXPECT_EQ(loop.last_handshake().session_id, 0);
  EXPECT_EQ(loop.last_handshake().password, std::string(16, '\0'));
  loop.accept_session(0x66);
  EXPECT_FALSE(loop.machine().read_only());
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "suspended", "expired", "connected"}));
}

TEST(handshake, a_session_may_continue_on_a_read_only_server) {
  auto options = nine_seconds();
  options.allow_read_only = true;
  virtual_loop loop{options};
  loop.attach();
  loop.lose_connection();
  loop.accept();
  loop.accept_session(first_session, 9000, true);
  EXPECT_TRUE(loop.machine().read_only());
  loop.lose_connection();
  loop.accept();
  EXPECT_EQ(loop.last_handshake().session_id, first_session);
}

TEST(handshake, without_a_reply_the_next_host_is_tried) {
  virtual_loop loop;
  loop.accept();
  EXPECT_EQ(loop.take_commands(), lines{"connect one:1"});
  loop.advance(2999ms);
  EXPECT_TRUE(loop.take_commands().empty());
  loop.advance(1ms);
  EXPECT_EQ(loop.take_commands(), lines{"connect two:2"});
  EXPECT_TRUE(loop.take_journal().empty());
}

TEST(handshake, a_refused_new_session_is_not_an_expiry) {
  virtual_loop loop;
  loop.accept();
  loop.refuse_session();
  EXPECT_TRUE(loop.take_journal().empty());
  EXPECT_EQ(loop.requested_host(), "two:2");
}

TEST(handshake, after_malformed_replies_the_next_host_is_tried) {
  const std::vector<std::function<void(virtual_loop&)>> answers{
      [](virtual_loop& l) { l.accept_session(0, 9000); },
      [](virtual_loop& l) { l.send_frame(); },
      [](virtual_loop& l) {
        l.send_frame(wire::reply_header{1, 2, 0});
      },
      [](virtual_loop& l) {
        l.send_frame(wire::connect_response{0, 9000, 5, std::string(65, 'x')});
      },
      [](virtual_loop& l) { l.deliver("HTTP/1.1 400 Bad Request\r\n"); },
      [](virtual_loop& l) { l.deliver(std::string(8, '\xff')); },
  };
  for (const auto& answer : answers) {
    virtual_loop loop;
    loop.accept();
    answer(loop);
    EXPECT_EQ(loop.requested_host(), "two:2");
    EXPECT_EQ(loop.machine().state(), session_state::connecting);
    EXPECT_TRUE(loop.take_journal().empty());
  }
}

}  // namespace
}  // namespace conclave::session
