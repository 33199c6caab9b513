// Completions, watch events and session events are delivered in the order of their causes.

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using lines = std::vector<std::string>;

TEST(notices, follow_the_order_of_the_servers_messages) {
  virtual_loop loop;
  const auto w = loop.journal_watcher("w");
  loop.attach();
  loop.submit(add_watch("/p", watch_mode::persistent, w));
  loop.answer_all();
  loop.submit(set("/1"));
  loop.submit(get("/2"));
  loop.take_journal();
  std::string bytes;
  const wire::reply_header event{wire::special_xid::watch_event, -1, 0};
  wire::append_frame(bytes, event, wire::watcher_event{3, 3, "/p"});
  wire::append_frame(bytes, wire::reply_header{2, 200, 0});
  wire::append_frame(bytes, event, wire::watcher_event{4, 3, "/p"});
  wire::append_frame(bytes, wire::reply_header{3, 201, 0});
  wire::append_frame(bytes, event, wire::watcher_event{2, 3, "/p"});
  loop.deliver(bytes);
  EXPECT_EQ(loop.take_journal(), (lines{"w changed /p", "done set /1: ok", "w children_changed /p",
                                        "done get /2: ok", "w deleted /p"}));
}

// The server sends a watch event before the reply that shows the change. A watch is active from the
// reply to the read that set it.
TEST(notices, a_watch_receives_an_event_right_after_its_read) {
  virtual_loop loop;
  const auto w = loop.journal_watcher("w");
  loop.attach();
  loop.submit(get("/a", w));
  loop.take_journal();
  std::string bytes;
  wire::append_frame(bytes, wire::reply_header{1, 200, 0});
  wire::append_frame(bytes, wire::reply_header{-1, -1, 0}, wire::watcher_event{3, 3, "/a"});
  loop.deliver(bytes);
  EXPECT_EQ(loop.take_journal(), (lines{"done get /a: ok", "w changed /a"}));
}

TEST(notices, a_suspension_precedes_the_operations_that_it_fails) {
  virtual_loop loop;
  loop.attach();
  loop.submit(set("/1"));
  loop.submit(set("/2"));
  loop.take_journal();
  loop.lose_connection();
  EXPECT_EQ(loop.take_journal(),
            (lines{"suspended", "done set /1: connection_loss", "done set /2: connection_loss"}));
}

TEST(notices, a_reconnect_precedes_the_replies_on_the_new_connection) {
  virtual_loop loop;
  loop.attach();
  loop.submit(get("/1"));
  loop.lose_connection();
  loop.take_journal();
  loop.attach();
  loop.answer_all();
  EXPECT_EQ(loop.take_journal(), (lines{"reconnected", "done get /1: ok"}));
}

TEST(notices, are_delivered_once) {
  virtual_loop loop;
  loop.attach();
  EXPECT_FALSE(loop.machine().has_notices());
  EXPECT_TRUE(loop.machine().take_notices().empty());
}

TEST(notices, log_lines_are_produced_only_for_a_configured_log) {
  virtual_loop silent;
  silent.attach();
  silent.lose_connection();
  EXPECT_TRUE(silent.log().empty());

  auto options = nine_seconds();
  options.log = [](log_level, std::string_view) {};
  virtual_loop loop{options};
  loop.refuse();
  ASSERT_EQ(loop.log().size(), 1u);
  EXPECT_EQ(loop.log()[0].level, log_level::warning);
  EXPECT_NE(loop.log()[0].text.find("one:1"), std::string::npos);
  loop.attach();
  loop.lose_connection();
  EXPECT_NE(loop.log().back().text.find("two:2"), std::string::npos);
}

TEST(notices, the_log_contains_no_secrets_or_data) {
  auto options = nine_seconds();
  options.log = [](log_level, std::string_view) {};
  options.credentials.emplace_back("digest", secret::from_memory("user:TOPSECRET"));
  virtual_loop loop{options};
  loop.attach();
  loop.submit(set("/a", "NODEDATA"));
  loop.submit(add_auth("digest", "user:TOPSECRET"));
  loop.answer({99, {}, {}});
  loop.attach();
  loop.answer_error({wire::special_xid::auth, {}, {}}, errc::auth_failed);
  EXPECT_GT(loop.log().size(), 2u);
  for (const auto& line : loop.log()) {
    EXPECT_EQ(line.text.find("TOPSECRET"), std::string::npos);
    EXPECT_EQ(line.text.find("NODEDATA"), std::string::npos);
    EXPECT_EQ(line.text.find("sixteen letters!"), std::string::npos);
  }
}

}  // namespace
}  // namespace conclave::session
