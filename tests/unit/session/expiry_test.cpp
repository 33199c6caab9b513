// The server says that the session is gone.

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

// Attached, with a watch on /w, cut, with a read and a write waiting.
struct suspended_session {
  explicit suspended_session(const client_options& options) : loop{options} {
    const auto w = loop.journal_watcher("w");
    loop.attach();
    loop.submit(get("/w", w));
    loop.answer_all();
    read = loop.submit(get("/read"));
    loop.cut();
    write = loop.submit(set("/write"));
    loop.accept();
    loop.take_journal();
    loop.take_wishes();
  }
  virtual_loop loop;
  std::shared_ptr<fate> read;
  std::shared_ptr<fate> write;
};

TEST(expiry, everything_that_belonged_to_the_session_ends) {
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

TEST(expiry, begins_a_new_session) {
  suspended_session s{nine_seconds()};
  s.loop.refuse_session();
  EXPECT_EQ(s.loop.machine().state(), session_state::connecting);
  EXPECT_EQ(s.loop.machine().session_id(), 0);
  EXPECT_EQ(s.loop.machine().session_deadline(), time_point::min());
  s.loop.take_journal();
  s.loop.accept();
  EXPECT_EQ(s.loop.greeting().session_id, 0);
  EXPECT_EQ(s.loop.greeting().password, std::string(16, '\0'));
  s.loop.welcome(0x99);
  EXPECT_FALSE(s.loop.has_request());  // no watches, nothing that waited
  EXPECT_EQ(s.loop.take_journal(), lines{"connected"});
  EXPECT_EQ(s.loop.machine().session_id(), 0x99);
}

TEST(expiry, the_new_session_may_begin_on_a_server_that_was_set_up_anew) {
  suspended_session s{nine_seconds()};
  EXPECT_GT(s.loop.greeting().last_zxid_seen, 0);
  s.loop.refuse_session();
  s.loop.accept();
  EXPECT_EQ(s.loop.greeting().last_zxid_seen, 0);
}

TEST(expiry, what_is_submitted_afterwards_waits_for_the_new_session) {
  suspended_session s{nine_seconds()};
  s.loop.refuse_session();
  const auto op = s.loop.submit(set("/later"));
  s.loop.accept();
  s.loop.welcome(0x99);
  s.loop.answer_all();
  EXPECT_TRUE(op->succeeded());
}

TEST(expiry, stays_dead_when_told_to) {
  auto options = nine_seconds();
  options.renew_expired = false;
  suspended_session s{options};
  s.loop.refuse_session();
  EXPECT_EQ(s.loop.take_journal(),
            (lines{"expired", "done get /read: session_expired", "done set /write: session_expired",
                   "w session_ended /w"}));
  EXPECT_EQ(s.loop.machine().state(), session_state::expired);
  EXPECT_TRUE(s.loop.machine().finished());
  EXPECT_EQ(s.loop.take_wishes(), lines{"disconnect"});
  EXPECT_EQ(s.loop.machine().next_deadline(), time_point::max());
  EXPECT_EQ(s.loop.refused(get("/a")), error_code{errc::session_expired});
  s.loop.advance(1h);
  EXPECT_TRUE(s.loop.take_wishes().empty());
}

TEST(expiry, is_not_told_for_a_suspension_however_long) {
  virtual_loop loop;
  loop.attach();
  loop.cut();
  loop.advance(1h);
  EXPECT_EQ(loop.take_journal(), (lines{"connected", "suspended"}));
  EXPECT_EQ(loop.machine().session_id(), first_session);
}

TEST(expiry, the_new_session_asks_for_the_configured_timeout) {
  virtual_loop loop;
  loop.accept();
  loop.welcome(first_session, 30'000);
  loop.cut();
  loop.accept();
  loop.refuse_session();
  EXPECT_EQ(loop.machine().session_timeout(), 9s);
}

// No ZooKeeper does this; a load balancer in front of two ensembles might.
TEST(another_session, is_an_expiry_and_a_new_session) {
  suspended_session s{nine_seconds()};
  s.loop.welcome(0x99);
  const auto journal = s.loop.take_journal();
  ASSERT_GE(journal.size(), 3u);
  EXPECT_EQ(journal.front(), "expired");
  EXPECT_EQ(journal.back(), "connected");
  EXPECT_EQ(std::count(journal.begin(), journal.end(), "w session_ended /w"), 1);
  EXPECT_EQ(s.loop.machine().session_id(), 0x99);
  EXPECT_EQ(s.loop.machine().watch_count(), 0u);
  EXPECT_EQ(s.loop.events().back().session_id, 0x99);
}

// What was meant for the old session must not happen in the new one.
TEST(another_session, operations_are_not_carried_into_it) {
  suspended_session s{nine_seconds()};
  s.loop.welcome(0x99);
  EXPECT_TRUE(s.write->failed(errc::session_expired));
  EXPECT_TRUE(s.read->failed(errc::session_expired));
  EXPECT_FALSE(s.loop.has_request());
}

TEST(another_session, is_not_accepted_by_a_client_that_is_to_stay_dead) {
  auto options = nine_seconds();
  options.renew_expired = false;
  suspended_session s{options};
  s.loop.welcome(0x99);
  EXPECT_EQ(s.loop.machine().state(), session_state::expired);
  EXPECT_TRUE(s.write->failed(errc::session_expired));
}

}  // namespace
}  // namespace conclave::session
