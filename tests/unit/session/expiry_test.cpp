// The server reports an expired session.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

// A disconnected session with a watch on /w and with a pending read and a pending write.
struct suspended_session {
  explicit suspended_session(const client_options& options) : loop{options} {
    const auto w = loop.journal_watcher("w");
    loop.attach();
    loop.submit(get("/w", w));
    loop.answer_all();
    read = loop.submit(get("/read"));
    loop.lose_connection();
    write = loop.submit(set("/write"));
    loop.accept();
    loop.take_journal();
    loop.take_commands();
  }
  virtual_loop loop;
  std::shared_ptr<operation_state> read;
  std::shared_ptr<operation_state> write;
};

TEST(expiry, operations_and_watches_of_the_session_end) {
  suspended_session s{nine_seconds()};
  s.loop.refuse_session();
  EXPECT_TRUE(s.read->failed(errc::session_expired));
  EXPECT_TRUE(s.write->failed(errc::session_expired));
  EXPECT_TRUE(s.write->ec == condition::session_dead);
  EXPECT_EQ(s.loop.take_journal(),
            (lines{"expired", "done get /read: session_expired", "done set /write: session_expired",
                   "w session_ended /w"}));
  EXPECT_EQ(s.loop.events().back().session_id, first_session);
  EXPECT_EQ(s.loop.machine().watch_count(), 0u);
  EXPECT_EQ(s.loop.machine().outstanding(), 0u);
}

TEST(expiry, starts_a_new_session) {
  suspended_session s{nine_seconds()};
  s.loop.refuse_session();
  EXPECT_EQ(s.loop.machine().state(), session_state::connecting);
  EXPECT_EQ(s.loop.machine().session_id(), 0);
  EXPECT_EQ(s.loop.machine().session_deadline(), time_point::min());
  s.loop.take_journal();
  s.loop.accept();
  EXPECT_EQ(s.loop.last_handshake().session_id, 0);
  EXPECT_EQ(s.loop.last_handshake().password, std::string(16, '\0'));
  s.loop.accept_session(0x99);
  EXPECT_FALSE(s.loop.has_request());  // no watches and no pending operations
  EXPECT_EQ(s.loop.take_journal(), lines{"connected"});
  EXPECT_EQ(s.loop.machine().session_id(), 0x99);
}

TEST(expiry, the_new_session_may_start_on_a_server_without_data) {
  suspended_session s{nine_seconds()};
  EXPECT_GT(s.loop.last_handshake().last_zxid_seen, 0);
  s.loop.refuse_session();
  s.loop.accept();
  EXPECT_EQ(s.loop.last_handshake().last_zxid_seen, 0);
}

TEST(expiry, later_operations_wait_for_the_new_session) {
  suspended_session s{nine_seconds()};
  s.loop.refuse_session();
  const auto op = s.loop.submit(set("/later"));
  s.loop.accept();
  s.loop.accept_session(0x99);
  s.loop.answer_all();
  EXPECT_TRUE(op->succeeded());
}

TEST(expiry, starts_no_new_session_if_renewal_is_off) {
  auto options = nine_seconds();
  options.renew_expired = false;
  suspended_session s{options};
  s.loop.refuse_session();
  EXPECT_EQ(s.loop.take_journal(),
            (lines{"expired", "done get /read: session_expired", "done set /write: session_expired",
                   "w session_ended /w"}));
  EXPECT_EQ(s.loop.machine().state(), session_state::expired);
  EXPECT_TRUE(s.loop.machine().finished());
  EXPECT_EQ(s.loop.take_commands(), lines{"disconnect"});
  EXPECT_EQ(s.loop.machine().next_deadline(), time_point::max());
  EXPECT_EQ(s.loop.refused(get("/a")), error_code{errc::session_expired});
  s.loop.advance(1h);
  EXPECT_TRUE(s.loop.take_commands().empty());
}

TEST(expiry, is_not_reported_while_only_suspended) {
  virtual_loop loop;
  loop.attach();
  loop.lose_connection();
  loop.advance(1h);
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "suspended"}));
  EXPECT_EQ(loop.machine().session_id(), first_session);
}

TEST(expiry, the_new_session_requests_the_configured_timeout) {
  virtual_loop loop;
  loop.accept();
  loop.accept_session(first_session, 30'000);
  loop.lose_connection();
  loop.accept();
  loop.refuse_session();
  EXPECT_EQ(loop.machine().session_timeout(), 9s);
}

// ZooKeeper does not do this, but a load balancer in front of two ensembles can.
TEST(another_session, is_an_expiry_and_a_new_session) {
  suspended_session s{nine_seconds()};
  s.loop.accept_session(0x99);
  const auto journal = s.loop.take_journal();
  ASSERT_GE(journal.size(), 3u);
  EXPECT_EQ(journal.front(), "expired");
  EXPECT_EQ(journal.back(), "connected");
  EXPECT_EQ(std::count(journal.begin(), journal.end(), "w session_ended /w"), 1);
  EXPECT_EQ(s.loop.machine().session_id(), 0x99);
  EXPECT_EQ(s.loop.machine().watch_count(), 0u);
  EXPECT_EQ(s.loop.events().back().session_id, 0x99);
}

// Operations for the old session must not be executed in the new one.
TEST(another_session, pending_operations_fail) {
  suspended_session s{nine_seconds()};
  s.loop.accept_session(0x99);
  EXPECT_TRUE(s.write->failed(errc::session_expired));
  EXPECT_TRUE(s.read->failed(errc::session_expired));
  EXPECT_FALSE(s.loop.has_request());
}

TEST(another_session, is_not_accepted_if_renewal_is_off) {
  auto options = nine_seconds();
  options.renew_expired = false;
  suspended_session s{options};
  s.loop.accept_session(0x99);
  EXPECT_EQ(s.loop.machine().state(), session_state::expired);
  EXPECT_TRUE(s.write->failed(errc::session_expired));
}

}  // namespace
}  // namespace conclave::session
