// Calls that end without the lock, at any moment: by a stop request, a cancellation, the end of
// their time, an error. Whatever the server had made of them by then must go. Sessions outlive the
// tests here, so that an orphan would stay to be seen.
#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_future.hpp>

#include "locks/contest.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

class giving_up : public with_and_without_tickets {
 protected:
  client_options patient_session() {
    auto o = with_timeout(60s);
    // A cut may come late, caused by what is sent after the call was given up.
    o.reconnect = [this](unsigned) {
      if (mending) proxy.heal();
      return 2ms;
    };
    return o;
  }
  void mend() {
    mending = true;
    proxy.cut_after_server_frames(1u << 30);
    proxy.cut_after_client_frames(1u << 30);
    proxy.heal();
  }
  // With every link cut behind the n-th request or answer, gives up; for n = 1, 2, ... until
  // nothing is cut any more. attempt(cut) is to wait for cut() and then give up, and tells whether
  // it has the lock nevertheless.
  template <class Attempt>
  void at_every_frame(bool answers, Attempt attempt);
  // Nothing is left of it, and it can be had.
  void expect_no_trace(mutex& tried, std::size_t others = 0) {
    ASSERT_TRUE(line.wait_for(others)) << "an orphan: " << line.contenders().size() << " in line";
    if (others > 0) return;
    tried.lock();
    EXPECT_TRUE(tried.held());
    EXPECT_EQ(line.contenders(), std::vector{name_of(tried.hold().node())});
    tried.unlock();
    ASSERT_TRUE(line.wait_for(0));
  }

  link_proxy proxy{shared_server().port()};
  std::atomic<bool> mending{true};
  onlooker line{"giving-up"};
  client far{proxy.connect_string(), patient_session()};
  client near{shared_server().connect_string()};
  mutex m{far, line.path(), options()};
  mutex other{near, line.path(), options()};
};
INSTANTIATE_TEST_SUITE_P(with, giving_up, ::testing::Bool(), tickets_name);

template <class Attempt>
void giving_up::at_every_frame(bool answers, Attempt attempt) {
  for (const bool contended : {false, true}) {
    expect_no_trace(m);
    std::size_t given_up = 0;
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE((contended ? "contended, frame " : "free, frame ") + std::to_string(n));
      ASSERT_LT(n, 100u);
      if (contended) other.lock();
      proxy.reset_counters();
      mending = false;
      constexpr auto refuse = link_proxy::afterwards::refuse_until_heal;
      answers ? proxy.cut_after_server_frames(n, refuse) : proxy.cut_after_client_frames(n, refuse);
      // If no cut comes, everything that a waiting call sends has been sent.
      const bool has_it = attempt([&] { return proxy.wait_for_faults(1, 200ms); });
      const bool was_cut = proxy.faults() > 0;
      mend();
      if (contended) {
        EXPECT_FALSE(has_it);
        EXPECT_TRUE(other.held());
        expect_no_trace(m, 1);
        other.unlock();
      }
      if (has_it) m.unlock();
      if (!has_it && was_cut) ++given_up;
      expect_no_trace(m);
      if (HasFatalFailure() || !was_cut) break;
    }
    EXPECT_GT(given_up, 0u);
  }
}

TEST_P(giving_up, by_a_stop_request_behind_every_frame) {
  for (const bool answers : {false, true})
    at_every_frame(answers, [&](auto cut) {
      std::stop_source stop;
      auto locks = elsewhere([&] { return m.lock(stop.get_token()); });
      cut();
      stop.request_stop();
      // There is none before mend().
      EXPECT_TRUE(ready(locks)) << "giving up does not wait for a connection";
      return locks.get();
    });
}

TEST_P(giving_up, by_cancellation_behind_every_frame) {
  namespace asio = boost::asio;
  for (const bool answers : {false, true})
    at_every_frame(answers, [&](auto cut) {
      asio::cancellation_signal cancel;
      inbox<boost::system::error_code> got;
      m.async_lock(
          asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec) { got.put(ec); }));
      cut();
      cancel.emit(asio::cancellation_type::terminal);
      const auto ec = got.take();
      EXPECT_TRUE(ec) << "giving up does not wait for a connection";
      if (ec && *ec) {
        EXPECT_EQ(*ec, asio::error::operation_aborted);
      }
      return ec && !*ec;
    });
}

// The time is over while nobody can be reached.
TEST_P(giving_up, by_time_behind_every_frame) {
  for (const bool answers : {false, true})
    at_every_frame(answers, [&](auto cut) {
      const auto begun = now();
      const bool has_it = m.try_lock_for(60ms);
      EXPECT_TRUE(has_it || now() - begun >= 60ms);
      cut();
      return has_it;
    });
}

// No connection for longer than the client is to wait for one.
TEST_P(giving_up, by_an_error_behind_every_frame) {
  auto o = patient_session();
  o.connect_wait = 40ms;
  client hasty{proxy.connect_string(), o};
  mutex h{hasty, line.path(), options()};
  std::size_t thrown = 0;
  for (const bool answers : {false, true})
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE("frame " + std::to_string(n));
      ASSERT_LT(n, 100u);
      hasty.sync();
      proxy.reset_counters();
      mending = false;
      constexpr auto refuse = link_proxy::afterwards::refuse_until_heal;
      answers ? proxy.cut_after_server_frames(n, refuse) : proxy.cut_after_client_frames(n, refuse);
      auto locks = elsewhere([&] { return code_of([&] { h.lock(); }); });
      // Who stands in the line may as well keep its place and wait.
      static_cast<void>(ready(locks, 200ms));
      const bool was_cut = proxy.faults() > 0;
      mend();
      ASSERT_TRUE(ready(locks));
      const auto ec = locks.get();
      EXPECT_TRUE(!ec || ec == errc::not_connected) << ec.message();
      ASSERT_TRUE(hasty.wait_connected(patience));
      if (ec) ++thrown;
      if (!ec) h.unlock();
      expect_no_trace(h);
      if (HasFatalFailure() || !was_cut) break;
    }
  EXPECT_GT(thrown, 0u);
}

TEST_P(giving_up, at_growing_delays) {
  std::size_t got = 0;
  std::size_t gave_up = 0;
  for (auto delay = 1us; delay < 20ms || got == 0; delay += delay / 4 + 10us) {
    ASSERT_LT(delay, patience) << "too short for one lock";
    (m.try_lock_for(delay) ? got : gave_up) += 1;
    m.unlock();  // harmless if it is not held
    std::stop_source stop;
    std::jthread stopper{[&] {
      std::this_thread::sleep_for(delay);
      stop.request_stop();
    }};
    (m.lock(stop.get_token()) ? got : gave_up) += 1;
    m.unlock();
  }
  EXPECT_GT(got, 0u);
  EXPECT_GT(gave_up, 0u);
  expect_no_trace(m);
}

TEST_P(giving_up, a_stop_and_a_grant_at_one_time) {
  std::size_t got = 0, gave_up = 0;
  // Earlier after a grant, later after a stop: that leads to where the two meet, however long a
  // hand-off takes on this machine.
  std::chrono::nanoseconds delay{0};
  for (int i = 0; i < 100 || got == 0 || gave_up == 0; ++i) {
    ASSERT_LT(i, 2000) << got << " grants, " << gave_up << " stops";
    other.lock();
    std::stop_source stop;
    auto locks = elsewhere([&] { return m.lock(stop.get_token()); });
    ASSERT_TRUE(line.wait_for_at_least(2));
    other.unlock();
    for (const auto at = now() + delay; now() < at;) {
    }
    stop.request_stop();
    if (locks.get()) {
      EXPECT_TRUE(m.held());
      m.unlock();
      ++got;
      delay = delay * 4 / 5;
    } else {
      ++gave_up;
      delay = delay * 5 / 4 + 10us;
    }
  }
  RecordProperty("got", static_cast<int>(got));
  RecordProperty("gave_up", static_cast<int>(gave_up));
  expect_no_trace(m);
}

// A lock object that goes while it holds or waits leaves nothing.
TEST_P(giving_up, by_destruction) {
  {
    mutex short_lived{far, line.path(), options()};
    short_lived.lock();
    proxy.drop_links();
  }
  expect_no_trace(m);
  try {
    mutex short_lived{far, line.path(), options()};
    const std::scoped_lock guard{short_lived};
    throw 1;
  } catch (int) {
  }
  expect_no_trace(m);
}

// Whoever waits in it is told, and uses nothing of what is gone.
TEST_P(giving_up, by_destruction_while_it_waits) {
  std::stop_source stop;
  other.lock();
  for (const auto& wait : std::vector<std::function<void(mutex&)>>{
           [](mutex& in) { in.lock(); },
           [](mutex& in) { static_cast<void>(in.try_lock_for(patience)); },
           [&](mutex& in) { static_cast<void>(in.lock(stop.get_token())); }}) {
    auto doomed = std::make_unique<mutex>(far, line.path(), options());
    auto waits = elsewhere([&wait, &in = *doomed] { return code_of([&] { wait(in); }); });
    ASSERT_TRUE(line.wait_for(2));
    doomed.reset();
    ASSERT_TRUE(ready(waits));
    EXPECT_EQ(waits.get(), boost::asio::error::operation_aborted);
    expect_no_trace(m, 1);
  }
  other.unlock();
}

TEST_P(giving_up, a_timed_call_rides_out_a_reconnect) {
  mending = false;  // only when this test says so
  inbox<unsigned> refused;
  auto o = patient_session();
  o.reconnect = [&](unsigned n) {
    refused.put(n);
    return 5ms;
  };
  client cut_off{proxy.connect_string(), o};
  cut_off.sync();
  mutex timed{cut_off, line.path(), options()};
  // Before it is in the line ...
  proxy.cut();
  auto locks = elsewhere([&] { return timed.try_lock_for(patience); });
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(refused.take());
  proxy.heal();
  ASSERT_TRUE(ready(locks));
  EXPECT_TRUE(locks.get());
  timed.unlock();
  ASSERT_TRUE(line.wait_for(0));
  // ... and while it waits there.
  other.lock();
  auto waits = elsewhere([&] { return timed.try_lock_for(patience); });
  ASSERT_TRUE(line.wait_for(2));
  const auto place = line.contenders();
  while (refused.size() > 0) refused.take();
  proxy.cut();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(refused.take());
  proxy.heal();
  cut_off.sync();
  EXPECT_EQ(line.contenders(), place) << "it keeps its place";
  EXPECT_FALSE(ready(waits, 0s));
  other.unlock();
  ASSERT_TRUE(ready(waits));
  EXPECT_TRUE(waits.get());
  timed.unlock();
  EXPECT_TRUE(line.wait_for(0));
}

}  // namespace
}  // namespace conclave::testing
