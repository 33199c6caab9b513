// Calls that end without the lock at any time: by a stop request, a cancellation, a timeout or an
// error. All their nodes must be removed. Sessions outlive the tests, so that an orphan stays
// visible.
#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_future.hpp>

#include "locks/lock_observer.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

class giving_up : public with_and_without_tickets {
 protected:
  client_options patient_session() {
    auto o = with_timeout(60s);
    // A request that is sent after the call was given up may trigger the fault.
    o.reconnect = [this](unsigned) {
      if (accepts_connections) proxy.heal();
      return 2ms;
    };
    return o;
  }
  void heal() {
    accepts_connections = true;
    proxy.disconnect_after_server_frames(1u << 30);
    proxy.disconnect_after_client_frames(1u << 30);
    proxy.heal();
  }
  // Closes every connection after the n-th request or reply and gives up, for n = 1, 2, ... until
  // no fault happens. attempt(wait_for_disconnect) must call wait_for_disconnect(), give up, and
  // return whether it holds the lock.
  template <class Attempt>
  void at_every_frame(bool answers, Attempt attempt);
  // Checks that no node is left and the lock can be acquired.
  void expect_no_trace(mutex& tried, std::size_t others = 0) {
    ASSERT_TRUE(wait_queue.wait_for(others))
        << "an orphan: " << wait_queue.contenders().size() << " contenders";
    if (others > 0) return;
    tried.lock();
    EXPECT_TRUE(tried.held());
    EXPECT_EQ(wait_queue.contenders(), std::vector{name_of(tried.hold().node())});
    tried.unlock();
    ASSERT_TRUE(wait_queue.wait_for(0));
  }

  link_proxy proxy{shared_server().port()};
  std::atomic<bool> accepts_connections{true};
  lock_observer wait_queue{"giving-up"};
  client far{proxy.connect_string(), patient_session()};
  client near{shared_server().connect_string()};
  mutex m{far, wait_queue.path(), options()};
  mutex other{near, wait_queue.path(), options()};
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
      accepts_connections = false;
      constexpr auto refuse = link_proxy::afterwards::refuse_until_heal;
      answers ? proxy.disconnect_after_server_frames(n, refuse)
              : proxy.disconnect_after_client_frames(n, refuse);
      // Without a fault in this time, the waiting call has sent all its requests.
      const bool has_it = attempt([&] { return proxy.wait_for_faults(1, 200ms); });
      const bool was_disconnected = proxy.faults() > 0;
      heal();
      if (contended) {
        EXPECT_FALSE(has_it);
        EXPECT_TRUE(other.held());
        expect_no_trace(m, 1);
        other.unlock();
      }
      if (has_it) m.unlock();
      if (!has_it && was_disconnected) ++given_up;
      expect_no_trace(m);
      if (HasFatalFailure() || !was_disconnected) break;
    }
    EXPECT_GT(given_up, 0u);
  }
}

TEST_P(giving_up, by_a_stop_request_after_every_frame) {
  for (const bool answers : {false, true})
    at_every_frame(answers, [&](auto wait_for_disconnect) {
      std::stop_source stop;
      auto locks = run_async([&] { return m.lock(stop.get_token()); });
      wait_for_disconnect();
      stop.request_stop();
      // There is no connection before heal().
      EXPECT_TRUE(ready(locks)) << "giving up must not wait for a connection";
      return locks.get();
    });
}

TEST_P(giving_up, by_cancellation_after_every_frame) {
  namespace asio = boost::asio;
  for (const bool answers : {false, true})
    at_every_frame(answers, [&](auto wait_for_disconnect) {
      asio::cancellation_signal cancel;
      inbox<boost::system::error_code> got;
      m.async_lock(
          asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec) { got.put(ec); }));
      wait_for_disconnect();
      cancel.emit(asio::cancellation_type::terminal);
      const auto ec = got.take();
      EXPECT_TRUE(ec) << "giving up must not wait for a connection";
      if (ec && *ec) {
        EXPECT_EQ(*ec, asio::error::operation_aborted);
      }
      return ec && !*ec;
    });
}

// The timeout ends while no server can be reached.
TEST_P(giving_up, by_timeout_after_every_frame) {
  for (const bool answers : {false, true})
    at_every_frame(answers, [&](auto wait_for_disconnect) {
      const auto begun = now();
      const bool has_it = m.try_lock_for(60ms);
      EXPECT_TRUE(has_it || now() - begun >= 60ms);
      wait_for_disconnect();
      return has_it;
    });
}

// There is no connection for longer than connect_wait.
TEST_P(giving_up, by_an_error_after_every_frame) {
  auto o = patient_session();
  o.connect_wait = 40ms;
  client hasty{proxy.connect_string(), o};
  ASSERT_TRUE(hasty.wait_connected(wait_limit));
  mutex h{hasty, wait_queue.path(), options()};
  std::size_t thrown = 0;
  for (const bool answers : {false, true})
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE("frame " + std::to_string(n));
      ASSERT_LT(n, 100u);
      hasty.sync();
      proxy.reset_counters();
      accepts_connections = false;
      constexpr auto refuse = link_proxy::afterwards::refuse_until_heal;
      answers ? proxy.disconnect_after_server_frames(n, refuse)
              : proxy.disconnect_after_client_frames(n, refuse);
      auto locks = run_async([&] { return code_of([&] { h.lock(); }); });
      // A waiter may keep its position and wait.
      static_cast<void>(ready(locks, 200ms));
      const bool was_disconnected = proxy.faults() > 0;
      heal();
      ASSERT_TRUE(ready(locks));
      const auto ec = locks.get();
      EXPECT_TRUE(!ec || ec == errc::not_connected) << ec.message();
      ASSERT_TRUE(hasty.wait_connected(wait_limit));
      if (ec) ++thrown;
      if (!ec) h.unlock();
      expect_no_trace(h);
      if (HasFatalFailure() || !was_disconnected) break;
    }
  EXPECT_GT(thrown, 0u);
}

TEST_P(giving_up, after_increasing_delays) {
  std::size_t got = 0;
  std::size_t gave_up = 0;
  for (auto delay = 1us; delay < 20ms || got == 0; delay += delay / 4 + 10us) {
    ASSERT_LT(delay, wait_limit) << "too short for one lock";
    (m.try_lock_for(delay) ? got : gave_up) += 1;
    m.unlock();  // no effect if not held
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

TEST_P(giving_up, by_a_stop_request_during_the_grant) {
  std::size_t got = 0, gave_up = 0;
  // The stop is requested earlier after a grant and later after a stop. So the delay approaches the
  // duration of a hand-off on this machine.
  std::chrono::nanoseconds delay{0};
  for (int i = 0; i < 100 || got == 0 || gave_up == 0; ++i) {
    ASSERT_LT(i, 2000) << got << " grants, " << gave_up << " stops";
    other.lock();
    std::stop_source stop;
    auto locks = run_async([&] { return m.lock(stop.get_token()); });
    ASSERT_TRUE(wait_queue.wait_for_at_least(2));
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

// A lock object that is destroyed while it holds or waits leaves no node.
TEST_P(giving_up, by_destruction) {
  {
    mutex short_lived{far, wait_queue.path(), options()};
    short_lived.lock();
    proxy.drop_links();
  }
  expect_no_trace(m);
  try {
    mutex short_lived{far, wait_queue.path(), options()};
    const std::scoped_lock guard{short_lived};
    throw 1;
  } catch (int) {
  }
  expect_no_trace(m);
}

// Waiting calls fail and do not use the destroyed object.
TEST_P(giving_up, by_destruction_while_a_call_waits) {
  std::stop_source stop;
  other.lock();
  for (const auto& wait : std::vector<std::function<void(mutex&)>>{
           [](mutex& in) { in.lock(); },
           [](mutex& in) { static_cast<void>(in.try_lock_for(wait_limit)); },
           [&](mutex& in) { static_cast<void>(in.lock(stop.get_token())); }}) {
    auto doomed = std::make_unique<mutex>(far, wait_queue.path(), options());
    auto waits = run_async([&wait, &in = *doomed] { return code_of([&] { wait(in); }); });
    ASSERT_TRUE(wait_queue.wait_for(2));
    doomed.reset();
    ASSERT_TRUE(ready(waits));
    EXPECT_EQ(waits.get(), boost::asio::error::operation_aborted);
    expect_no_trace(m, 1);
  }
  other.unlock();
}

TEST_P(giving_up, a_timed_call_survives_a_reconnect) {
  accepts_connections = false;  // until this test sets it
  inbox<unsigned> refused;
  auto o = patient_session();
  o.reconnect = [&](unsigned n) {
    refused.put(n);
    return 5ms;
  };
  client proxied{proxy.connect_string(), o};
  proxied.sync();
  mutex timed{proxied, wait_queue.path(), options()};
  // Before its node is created ...
  proxy.disconnect();
  auto locks = run_async([&] { return timed.try_lock_for(wait_limit); });
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(refused.take());
  proxy.heal();
  ASSERT_TRUE(ready(locks));
  EXPECT_TRUE(locks.get());
  timed.unlock();
  ASSERT_TRUE(wait_queue.wait_for(0));
  // ... and while it waits.
  other.lock();
  auto waits = run_async([&] { return timed.try_lock_for(wait_limit); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  const auto place = wait_queue.contenders();
  while (refused.size() > 0) refused.take();
  proxy.disconnect();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(refused.take());
  proxy.heal();
  proxied.sync();
  EXPECT_EQ(wait_queue.contenders(), place) << "the waiter keeps its position";
  EXPECT_FALSE(ready(waits, 0s));
  other.unlock();
  ASSERT_TRUE(ready(waits));
  EXPECT_TRUE(waits.get());
  timed.unlock();
  EXPECT_TRUE(wait_queue.wait_for(0));
}

}  // namespace
}  // namespace conclave::testing
