// The same session on a new connection.

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

TEST(reattach, sends_the_session_id_and_password) {
  virtual_loop loop;
  loop.attach();
  loop.lose_connection();
  EXPECT_EQ(loop.machine().state(), session_state::suspended);
  EXPECT_EQ(loop.machine().session_id(), first_session);
  loop.accept();
  EXPECT_EQ(loop.last_handshake().session_id, first_session);
  EXPECT_EQ(loop.last_handshake().password, "sixteen letters!");
  loop.accept_session();
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "suspended", "reconnected"}));
}

TEST(reattach, sends_credentials_then_watches_then_pending_operations) {
  auto options = nine_seconds();
  options.credentials.emplace_back("digest", secret::from_memory("user:password"));
  virtual_loop loop{options};
  loop.attach();
  EXPECT_EQ(loop.take_list(), lines{"auth"});
  const auto w = loop.journal_watcher("w");
  loop.submit(get("/watched", w));
  loop.answer({wire::special_xid::auth, {}, {}});
  loop.answer_all();
  loop.submit(get("/read"));
  loop.lose_connection();
  loop.submit(set("/written"));
  loop.attach();
  EXPECT_EQ(loop.take_list(), (lines{"auth", "set_watches", "get /read", "set /written"}));
}

TEST(reattach, nothing_is_sent_before_the_session_is_confirmed) {
  virtual_loop loop;
  loop.submit(get("/a"));
  loop.accept();
  EXPECT_FALSE(loop.has_request());
  loop.submit(get("/b"));
  EXPECT_FALSE(loop.has_request());
  loop.accept_session();
  EXPECT_EQ(loop.take_list(), (lines{"get /a", "get /b"}));
}

TEST(reattach, handles_replies_to_set_watches) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  loop.submit(get("/watched", w));
  loop.answer_all();
  loop.lose_connection();
  const auto read = loop.submit(get("/read"));
  loop.attach();
  loop.answer_all();
  EXPECT_TRUE(read->succeeded());
  EXPECT_EQ(loop.machine().watch_count(), 1u);
}

TEST(reattach, is_tried_on_the_next_host) {
  virtual_loop loop{nine_seconds(), "one:1,two:2,three:3"};
  loop.attach();
  loop.lose_connection();
  EXPECT_EQ(loop.requested_host(), "two:2");
  loop.attach();
  loop.lose_connection();
  EXPECT_EQ(loop.requested_host(), "three:3");
}

TEST(reattach, a_connection_loss_during_the_handshake_is_not_a_second_suspension) {
  virtual_loop loop;
  loop.attach();
  loop.lose_connection();
  loop.accept();
  loop.lose_connection();
  loop.attach();
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "suspended", "reconnected"}));
}

TEST(reattach, accepts_a_different_timeout) {
  virtual_loop loop;
  loop.attach();
  loop.lose_connection();
  loop.accept();
  loop.accept_session(first_session, 30'000);
  EXPECT_EQ(loop.machine().session_timeout(), 30s);
  EXPECT_EQ(loop.machine().session_deadline(), loop.now() + 27s);
}

}  // namespace
}  // namespace conclave::session
