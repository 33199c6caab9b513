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

TEST(handshake, asks_for_a_read_only_server_when_told_to) {
  auto options = nine_seconds();
  options.allow_read_only = true;
  virtual_loop loop{options};
  loop.accept();
  EXPECT_EQ(loop.greeting().read_only, true);
}

TEST(handshake, makes_a_session) {
  virtual_loop loop;
  EXPECT_EQ(loop.machine().state(), session_state::connecting);
  EXPECT_EQ(loop.machine().session_id(), 0);
  loop.accept();
  EXPECT_EQ(loop.greeting().session_id, 0);
  EXPECT_EQ(loop.greeting().timeout_ms, 9000);
  EXPECT_EQ(loop.greeting().password, std::string(16, '\0'));
  EXPECT_EQ(loop.greeting().read_only, false);
  EXPECT_EQ(loop.machine().state(), session_state::connecting);
  loop.welcome(0x77);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  EXPECT_EQ(loop.machine().session_id(), 0x77);
  EXPECT_FALSE(loop.machine().read_only());
  EXPECT_EQ(loop.take_journal(), lines{"connected"});
  EXPECT_EQ(loop.events().back().session_id, 0x77);
}

TEST(handshake, the_servers_timeout_counts) {
  virtual_loop loop;
  EXPECT_EQ(loop.machine().session_timeout(), 9s);
  loop.accept();
  loop.welcome(first_session, 30'000);
  EXPECT_EQ(loop.machine().session_timeout(), 30s);
  loop.advance(9999ms);
  EXPECT_FALSE(loop.has_request());
  loop.advance(1ms);
  EXPECT_EQ(loop.take_list(), lines{"ping"});
}

TEST(handshake, every_connection_asks_for_the_configured_timeout) {
  virtual_loop loop;
  loop.accept();
  loop.welcome(first_session, 4000);
  loop.cut();
  loop.accept();
  EXPECT_EQ(loop.greeting().timeout_ms, 9000);
}

TEST(handshake, old_servers_leave_the_last_byte_out) {
  virtual_loop loop;
  loop.accept();
  loop.welcome(first_session, 9000, std::nullopt);
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

TEST(handshake, may_arrive_together_with_what_follows) {
  virtual_loop loop;
  const auto w = loop.journal_watcher("w");
  loop.attach();
  loop.submit(get("/a", w));
  loop.answer_all();
  loop.cut();
  loop.accept();
  loop.take_journal();
  std::string bytes;
  wire::append_frame(bytes, wire::connect_response{0, 9000, first_session, "sixteen letters!"},
                     wire::read_only_flag{});
  wire::append_frame(bytes, wire::reply_header{-1, -1, 0}, wire::watcher_event{3, 3, "/a"});
  loop.deliver(bytes);
  EXPECT_EQ(loop.take_journal(), (lines{"reconnected", "w changed /a"}));
}

TEST(handshake, a_session_of_a_read_only_server_is_not_asked_for_again) {
  auto options = nine_seconds();
  options.allow_read_only = true;
  virtual_loop loop{options};
  loop.accept();
  loop.welcome(0x55, 9000, true);
  EXPECT_TRUE(loop.machine().read_only());
  loop.cut();
  loop.accept();
  EXPECT_EQ(loop.greeting().session_id, 0);
  EXPECT_EQ(loop.greeting().password, std::string(16, '\0'));
  loop.welcome(0x66);
  EXPECT_FALSE(loop.machine().read_only());
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "suspended", "expired", "connected"}));
}

TEST(handshake, a_real_session_may_be_kept_by_a_read_only_server) {
  auto options = nine_seconds();
  options.allow_read_only = true;
  virtual_loop loop{options};
  loop.attach();
  loop.cut();
  loop.accept();
  loop.welcome(first_session, 9000, true);
  EXPECT_TRUE(loop.machine().read_only());
  loop.cut();
  loop.accept();
  EXPECT_EQ(loop.greeting().session_id, first_session);
}

TEST(handshake, without_an_answer_the_next_host_is_tried) {
  virtual_loop loop;
  loop.accept();
  EXPECT_EQ(loop.take_wishes(), lines{"connect one:1"});
  loop.advance(2999ms);
  EXPECT_TRUE(loop.take_wishes().empty());
  loop.advance(1ms);
  EXPECT_EQ(loop.take_wishes(), lines{"connect two:2"});
  EXPECT_TRUE(loop.take_journal().empty());
}

TEST(handshake, refused_for_a_new_session_is_no_expiry) {
  virtual_loop loop;
  loop.accept();
  loop.refuse_session();
  EXPECT_TRUE(loop.take_journal().empty());
  EXPECT_EQ(loop.wanted_host(), "two:2");
}

TEST(handshake, malformed_answers_lead_to_the_next_host) {
  const std::vector<std::function<void(virtual_loop&)>> answers{
      [](virtual_loop& l) { l.welcome(0, 9000); },
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
    EXPECT_EQ(loop.wanted_host(), "two:2");
    EXPECT_EQ(loop.machine().state(), session_state::connecting);
    EXPECT_TRUE(loop.take_journal().empty());
  }
}

}  // namespace
}  // namespace conclave::session
