// Counters, histograms and their text.
#include <memory>

#include <gtest/gtest.h>

#include "base/metric_counters.hpp"
#include "conclave/detail/prometheus_writer.hpp"

namespace conclave {
namespace {

using namespace std::chrono_literals;

TEST(metric_histogram, counts_a_duration_in_the_first_range_that_reaches_it) {
  metric_histogram h;
  h.add(-1ns);
  h.add(100us);
  h.add(100'001ns);
  h.add(600s);
  h.add(601s);
  const auto got = h.read();
  duration_histogram expected;
  expected.counts[0] = 2;
  expected.counts[1] = 1;
  expected.counts[18] = 1;
  expected.counts[19] = 1;
  EXPECT_EQ(got.counts, expected.counts);
  EXPECT_EQ(got.total(), 5u);
  EXPECT_DOUBLE_EQ(got.sum, 1201.000200001);
}

TEST(metric_counters, classify_the_errors_of_requests) {
  metrics m;
  auto& n = m.counters().requests;
  n.completed({});
  n.completed(errc::no_node);
  n.completed(errc::no_auth);
  n.completed(errc::connection_loss);
  n.completed({ECANCELED, boost::system::system_category()});
  n.completed(errc::not_connected);
  n.completed(errc::session_expired);
  n.completed(errc::lock_lost);
  const auto s = m.snapshot().requests;
  EXPECT_EQ(s.succeeded, 1u);
  EXPECT_EQ(s.refused, 2u);
  EXPECT_EQ(s.outcome_unknown, 1u);
  EXPECT_EQ(s.cancelled, 1u);
  EXPECT_EQ(s.failed, 3u);
}

TEST(metric_counters, classify_the_reasons_of_losses) {
  metrics m;
  auto& n = m.counters().of(lock_kind::election).lost;
  for (const auto why :
       {errc::deadline_passed, errc::session_expired, errc::session_expired, errc::node_deleted,
        errc::closed, errc::closed, errc::closed, errc::auth_failed})
    n.add(why);
  const auto s = m.snapshot().of(lock_kind::election).lost;
  EXPECT_EQ(s.deadline_passed, 1u);
  EXPECT_EQ(s.session_expired, 2u);
  EXPECT_EQ(s.node_deleted, 1u);
  EXPECT_EQ(s.closed, 3u);
  EXPECT_EQ(s.auth_failed, 1u);
  EXPECT_EQ(s.total(), 8u);
  EXPECT_EQ(m.snapshot().of(lock_kind::lock).lost.total(), 0u);
}

TEST(local_grant_counter, is_counted_also_after_its_end) {
  metrics m;
  local_grant_counter other{m.counters(), lock_kind::lock};
  other.add_one();
  {
    local_grant_counter one{m.counters(), lock_kind::lock};
    one.add_one();
    one.add_one();
    EXPECT_EQ(m.snapshot().of(lock_kind::lock).untimed, 3u);
  }
  const auto s = m.snapshot().of(lock_kind::lock);
  EXPECT_EQ(s.acquired, 3u);
  EXPECT_EQ(s.local, 3u);
  EXPECT_EQ(s.untimed, 3u);
  EXPECT_EQ(s.wait.total(), 0u);
  EXPECT_EQ(m.snapshot().of(lock_kind::semaphore).acquired, 0u);
}

TEST(prometheus_text, has_cumulative_ranges) {
  metrics m;
  auto& n = m.counters().of(lock_kind::semaphore);
  n.waiting.add();
  n.completed(acquire_outcome::acquired, 200us);
  n.waiting.add();
  n.completed(acquire_outcome::acquired, 2s);
  n.waiting.add();
  n.completed(acquire_outcome::timed_out, 1s);
  const auto text = prometheus_text(m.snapshot());
  const auto expect_line = [&](const std::string& line) {
    EXPECT_NE(text.find('\n' + line + '\n'), std::string::npos) << line << "\nis not in\n" << text;
  };
  expect_line("# TYPE conclave_lock_wait_seconds histogram");
  expect_line("conclave_lock_wait_seconds_bucket{kind=\"semaphore\",le=\"0.0001\"} 0");
  expect_line("conclave_lock_wait_seconds_bucket{kind=\"semaphore\",le=\"0.00025\"} 1");
  expect_line("conclave_lock_wait_seconds_bucket{kind=\"semaphore\",le=\"1\"} 1");
  expect_line("conclave_lock_wait_seconds_bucket{kind=\"semaphore\",le=\"2.5\"} 2");
  expect_line("conclave_lock_wait_seconds_bucket{kind=\"semaphore\",le=\"+Inf\"} 2");
  expect_line("conclave_lock_wait_seconds_sum{kind=\"semaphore\"} 2.0002");
  expect_line("conclave_lock_wait_seconds_count{kind=\"semaphore\"} 2");
  expect_line("conclave_lock_calls_total{kind=\"semaphore\",outcome=\"acquired\"} 2");
  expect_line("conclave_lock_calls_total{kind=\"semaphore\",outcome=\"timed_out\"} 1");
  expect_line("conclave_lock_calls_total{kind=\"lock\",outcome=\"acquired\"} 0");
  expect_line("conclave_lock_waiting{kind=\"semaphore\"} 0");
  expect_line("conclave_request_seconds_bucket{le=\"+Inf\"} 0");
}

TEST(prometheus_writer, escapes_the_value_of_a_label) {
  EXPECT_EQ(detail::prometheus_writer::escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
}

}  // namespace
}  // namespace conclave
