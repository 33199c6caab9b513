// Authentication.

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

client_options with_credentials() {
  auto options = nine_seconds();
  options.credentials.emplace_back("digest", secret::from_memory("user:password"));
  options.credentials.emplace_back("ip", secret::from_memory("127.0.0.1"));
  return options;
}

TEST(auth, credentials_are_sent_on_every_connection) {
  virtual_loop loop{with_credentials()};
  for (int i = 0; i < 3; ++i) {
    loop.attach();
    const auto first = loop.take_request();
    EXPECT_EQ(first.xid, wire::special_xid::auth);
    EXPECT_EQ(first.type, wire::opcode::auth);
    wire::reader in{first.body};
    const auto shown = in.read<wire::auth_request>();
    EXPECT_TRUE(in.ok() && in.at_end());
    EXPECT_EQ(shown.type, 0);
    EXPECT_EQ(shown.scheme, "digest");
    EXPECT_EQ(shown.auth, "user:password");
    EXPECT_EQ(loop.take_list(), lines{"auth"});
    loop.answer(first);
    loop.answer(first);
    EXPECT_EQ(loop.machine().state(), session_state::connected);
    loop.lose_connection();
  }
}

TEST(auth, requests_do_not_wait_for_the_reply) {
  virtual_loop loop{with_credentials()};
  loop.attach();
  loop.take_list();
  const auto op = loop.submit(get("/a"));
  loop.answer(loop.take_request());
  EXPECT_TRUE(op->succeeded());
}

TEST(auth, refused_credentials_end_the_client) {
  virtual_loop loop{with_credentials()};
  loop.attach();
  const auto auth = loop.take_request();
  const auto w = loop.journal_watcher("w");
  loop.submit(get("/w", w));
  loop.take_request();
  loop.answer(loop.take_request());
  const auto read = loop.submit(get("/a"));
  const auto more = loop.submit(add_auth("digest", "v:q"));
  loop.take_journal();
  loop.take_commands();
  loop.answer_error(auth, errc::auth_failed);
  EXPECT_EQ(loop.take_journal(), (lines{"authentication failed", "done get /a: auth_failed",
                                        "done auth: auth_failed", "w session_ended /w"}));
  EXPECT_EQ(loop.machine().state(), session_state::authentication_failed);
  EXPECT_TRUE(loop.machine().finished());
  EXPECT_EQ(loop.take_commands(), lines{"disconnect"});
  EXPECT_EQ(loop.refused(get("/a")), error_code{errc::auth_failed});
  EXPECT_EQ(loop.machine().next_deadline(), time_point::max());
  EXPECT_TRUE(read->ec == condition::session_dead);
  EXPECT_TRUE(more->failed(errc::auth_failed));
}

TEST(auth, refused_credentials_leave_the_outcome_of_a_sent_write_unknown) {
  virtual_loop loop{with_credentials()};
  loop.attach();
  const auto auth = loop.take_request();
  const auto write = loop.submit(set("/a"));
  loop.answer_error(auth, errc::auth_failed);
  EXPECT_EQ(write->completions, 1);
  EXPECT_TRUE(write->ec == condition::outcome_unknown) << write->ec.message();
}

// Apache's server replies like this with enforce.auth.enabled, and conclave's with required_auth.
TEST(auth, a_client_without_required_credentials_ends) {
  constexpr auto required = errc::session_closed_require_sasl_auth;
  for (const bool by_ping : {false, true}) {
    virtual_loop loop;
    loop.attach();
    const auto write = by_ping ? nullptr : loop.submit(set("/a"));
    if (by_ping) loop.advance(3s);
    const auto asked = loop.take_request();
    const auto behind = loop.submit(get("/b"));
    loop.answer_error(asked, required);
    EXPECT_EQ(loop.machine().state(), session_state::authentication_failed);
    EXPECT_TRUE(loop.machine().finished()) << "must not reconnect";
    EXPECT_TRUE(by_ping || write->failed(required));
    EXPECT_TRUE(behind->failed(required)) << behind->ec.message();
    EXPECT_EQ(loop.refused(get("/a")), error_code{errc::auth_failed});
  }
}

TEST(add_auth, has_its_own_xid) {
  virtual_loop loop;
  loop.attach();
  const auto before = loop.submit(get("/before"));
  const auto auth = loop.submit(add_auth("digest", "user:password"));
  const auto after = loop.submit(get("/after"));
  EXPECT_EQ(loop.machine().outstanding(), 3u);
  const auto first = loop.take_request();
  const auto second = loop.take_request();
  EXPECT_EQ(second.xid, wire::special_xid::auth);
  loop.answer(second);  // ZooKeeper replies to it before other requests
  EXPECT_TRUE(auth->succeeded());
  EXPECT_TRUE(before->pending());
  loop.answer(first);
  loop.answer(loop.take_request());
  EXPECT_TRUE(before->succeeded() && after->succeeded());
}

TEST(add_auth, fails_if_the_server_refuses_it) {
  virtual_loop loop;
  loop.attach();
  const auto auth = loop.submit(add_auth("digest", "user:password"));
  loop.answer_error(loop.take_request(), errc::auth_failed);
  EXPECT_TRUE(auth->failed(errc::auth_failed));
  EXPECT_EQ(loop.machine().state(), session_state::authentication_failed);
}

TEST(add_auth, waits_for_a_connection) {
  virtual_loop loop;
  const auto auth = loop.submit(add_auth("digest", "user:password"));
  loop.submit(get("/a"));
  loop.attach();
  EXPECT_EQ(loop.take_list(), (lines{"auth", "get /a"}));
  loop.answer({wire::special_xid::auth, {}, {}});
  EXPECT_TRUE(auth->succeeded());
}

TEST(add_auth, is_repeated_after_a_connection_loss) {
  virtual_loop loop;
  loop.attach();
  const auto auth = loop.submit(add_auth("digest", "user:password"));
  loop.lose_connection();
  EXPECT_TRUE(auth->pending());
  loop.attach();
  EXPECT_EQ(loop.take_list(), lines{"auth"});
  loop.answer({wire::special_xid::auth, {}, {}});
  EXPECT_TRUE(auth->succeeded());
}

// A read that needs the credentials must not overtake them.
TEST(add_auth, is_repeated_before_later_requests) {
  virtual_loop loop;
  loop.attach();
  loop.submit(add_auth("digest", "user:password"));
  loop.submit(get("/a"));
  loop.lose_connection();
  loop.submit(get("/b"));
  loop.attach();
  EXPECT_EQ(loop.take_list(), (lines{"auth", "get /a", "get /b"}));
}

// The server forgets credentials when the connection ends.
TEST(add_auth, is_sent_on_later_connections) {
  virtual_loop loop;
  loop.attach();
  loop.submit(add_auth("digest", "user:password"));
  const auto first = loop.take_request();
  loop.answer(first);
  loop.submit(get("/a"));
  loop.lose_connection();
  loop.attach();
  ASSERT_TRUE(loop.has_request());
  const auto again = loop.take_request();
  EXPECT_EQ(again.type, wire::opcode::auth);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(loop.take_list(), lines{"get /a"});
  loop.answer(again);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
}

TEST(auth, an_unexpected_reply_is_a_protocol_error) {
  virtual_loop loop;
  loop.attach();
  loop.answer({wire::special_xid::auth, {}, {}});
  EXPECT_EQ(loop.events().back().reason, error_code{errc::protocol_error});
}

}  // namespace
}  // namespace conclave::session
