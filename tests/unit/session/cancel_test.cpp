// Cancellation of operations.

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include <boost/system/error_code.hpp>
#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

const error_code aborted{ECANCELED, boost::system::system_category()};

TEST(cancel, while_waiting_for_a_connection) {
  virtual_loop loop;
  const auto kept = loop.submit(get("/kept"));
  const auto op = loop.submit(set("/a"));
  loop.cancel(op);
  EXPECT_TRUE(op->failed(aborted));
  loop.attach();
  EXPECT_EQ(loop.take_list(), lines{"get /kept"});
  EXPECT_TRUE(kept->pending());
}

TEST(cancel, in_flight_discards_only_the_late_reply) {
  virtual_loop loop;
  loop.attach();
  const auto a = loop.submit(get("/a"));
  const auto b = loop.submit(set("/b"));
  const auto c = loop.submit(get("/c"));
  loop.cancel(b);
  EXPECT_TRUE(b->failed(aborted));
  loop.answer_all();
  EXPECT_TRUE(a->succeeded());
  EXPECT_TRUE(b->failed(aborted));
  EXPECT_TRUE(c->succeeded());
}

TEST(cancel, in_flight_may_have_had_an_effect) {
  virtual_loop loop;
  loop.attach();
  const auto write = loop.submit(set("/a"));
  loop.cancel(write);
  EXPECT_TRUE(write->ec == condition::outcome_unknown);
}

TEST(cancel, in_flight_is_not_repeated_after_a_connection_loss) {
  virtual_loop loop;
  loop.attach();
  const auto op = loop.submit(get("/a"));
  loop.cancel(op);
  loop.lose_connection();
  loop.attach();
  EXPECT_FALSE(loop.has_request());
  EXPECT_EQ(op->completions, 1);
}

TEST(cancel, a_late_reply_proves_that_the_session_is_alive) {
  virtual_loop loop;
  loop.attach();
  loop.advance(1s);
  const auto op = loop.submit(get("/a"));
  loop.cancel(op);
  loop.answer_all();
  EXPECT_EQ(loop.machine().session_deadline(), loop.now() + 8100ms);
}

TEST(cancel, leaves_no_watch) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  const auto op = loop.submit(get("/a", w));
  loop.cancel(op);
  loop.answer_all();
  EXPECT_EQ(loop.machine().watch_count(), 0u);
  loop.take_journal();
  loop.event(watch_event::kind::changed, "/a");
  EXPECT_TRUE(loop.take_journal().empty());
}

TEST(cancel, of_an_unknown_or_completed_operation_has_no_effect) {
  virtual_loop loop;
  loop.attach();
  const auto op = loop.submit(get("/a"));
  loop.machine().cancel(0);
  loop.machine().cancel(12345);
  loop.answer_all();
  loop.cancel(op);
  EXPECT_TRUE(op->succeeded());
}

TEST(cancel, twice_completes_once) {
  virtual_loop loop;
  const auto waiting = loop.submit(get("/a"));
  loop.cancel(waiting);
  loop.cancel(waiting);
  EXPECT_EQ(waiting->completions, 1);
  loop.attach();
  const auto sent = loop.submit(get("/a"));
  loop.cancel(sent);
  loop.cancel(sent);
  EXPECT_EQ(sent->completions, 1);
}

TEST(cancel, of_sent_credentials) {
  virtual_loop loop;
  loop.attach();
  const auto auth = loop.submit(add_auth("digest", "u:p"));
  const auto second = loop.submit(add_auth("digest", "v:q"));
  loop.cancel(auth);
  EXPECT_TRUE(auth->failed(aborted));
  loop.answer_all();
  EXPECT_TRUE(second->succeeded());
}

TEST(cancel, frees_capacity) {
  auto options = nine_seconds();
  options.max_outstanding_bytes = 100;
  virtual_loop loop{options};
  const auto op = loop.submit(set("/a", std::string(100, 'x')));
  EXPECT_EQ(loop.refused(get("/b")), error_code{errc::backlog_full});
  loop.cancel(op);
  loop.submit(get("/b"));
}

}  // namespace
}  // namespace conclave::session
