// Holders and waiters whose connection is lost for a short time, or until the session expires.
#include <atomic>
#include <thread>

#include "conclave/named_mutex.hpp"
#include "conclave/recursive_mutex.hpp"
#include "locks/lock_observer.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

// The holder's deadline is a tenth of this before the server's. This tenth must exceed the delay of
// a thread on a busy machine.
constexpr auto short_session = 1500ms;

// The calls of one lock's callbacks, with their times.
struct recorded_events {
  inbox<moment> suspended;
  inbox<moment> restored;
  inbox<std::pair<moment, error_code>> lost;

  lock_options report(lock_options o) {
    o.on_suspended = [this](const hold& h) {
      EXPECT_TRUE(h.suspended());
      suspended.put(now());
    };
    o.on_restored = [this](const hold& h) {
      EXPECT_FALSE(h.suspended());
      restored.put(now());
    };
    o.on_lost = [this](const hold& h, error_code why) {
      EXPECT_FALSE(h.held());
      EXPECT_TRUE(h.lost().stop_requested());
      lost.put({now(), why});
    };
    return o;
  }
};

class expiry : public with_and_without_tickets {
 protected:
  client_options quick(std::chrono::milliseconds timeout) {
    auto o = with_timeout(timeout);
    o.reconnect = [](unsigned) { return 5ms; };
    o.connect_wait = 60s;  // outages last as long as a session
    return o;
  }
  // Loses the connection until the server expires the session and grants the lock to b.
  template <class Disconnect, class Reconnect>
  void expire_holder(Disconnect disconnect, Reconnect reconnect);

  link_proxy proxy{shared_server().port()};
  lock_observer wait_queue{"expiry"};
};
INSTANTIATE_TEST_SUITE_P(with, expiry, ::testing::Bool(), tickets_name);

template <class Disconnect, class Reconnect>
void expiry::expire_holder(Disconnect disconnect, Reconnect reconnect) {
  const auto data = fresh_node(wait_queue.zk(), "data");
  client proxied{proxy.connect_string(), quick(short_session)};
  client other{shared_server().connect_string()};
  recorded_events events;
  mutex a{proxied, wait_queue.path(), events.report(options())};
  mutex b{other, wait_queue.path(), options()};
  a.lock();
  const auto hold = a.hold();
  std::atomic<bool> callback_ran{false};
  const std::stop_callback on_lost{hold.lost(), [&] { callback_ran = true; }};
  const auto stale = hold.fenced(transaction{}.set(data, "stale"));
  auto b_locks = run_async([&] {
    b.lock();
    return now();
  });
  ASSERT_TRUE(wait_queue.wait_for(2));
  disconnect();
  const auto lost = events.lost.take();
  ASSERT_TRUE(lost);
  EXPECT_FALSE(hold.held());
  EXPECT_FALSE(a.held());
  EXPECT_EQ(hold.remaining(), 0ns);
  EXPECT_TRUE(hold.lost().stop_requested());
  EXPECT_TRUE(callback_ran);
  EXPECT_EQ(lost->second, errc::deadline_passed);
  ASSERT_TRUE(ready(b_locks));
  EXPECT_LT(lost->first, b_locks.get()) << "notified too late";
  EXPECT_GT(b.fencing_token(), hold.fencing_token());

  // A connected client cannot use the lost hold either.
  EXPECT_EQ(code_of([&] { other.commit(stale); }), errc::lock_lost);
  EXPECT_EQ(code_of([&] { proxied.commit(stale); }), errc::lock_lost);
  reconnect();
  EXPECT_EQ(code_of([&] { proxied.commit(stale); }), errc::lock_lost);
  EXPECT_EQ(code_of([&] { hold.fenced(transaction{}); }), errc::lock_lost);
  EXPECT_EQ(wait_queue.zk().get(data).data, "");
  a.unlock();
  EXPECT_TRUE(b.held()) << "the late release of a must have no effect";
  EXPECT_EQ(wait_queue.contenders(), std::vector{name_of(b.hold().node())});
  auto a_locks = run_async([&] { a.lock(); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  b.unlock();
  ASSERT_TRUE(ready(a_locks));
  a_locks.get();
  EXPECT_TRUE(a.held());
  EXPECT_GT(a.fencing_token(), b.hold().fencing_token());
  a.unlock();
  EXPECT_TRUE(wait_queue.wait_for(0));
  EXPECT_EQ(events.lost.size(), 0u) << "reported once";
}

TEST_P(expiry, a_disconnected_holder_is_notified_before_the_next_grant) {
  expire_holder([&] { proxy.disconnect(); }, [&] { proxy.heal(); });
}

TEST_P(expiry, a_holder_without_traffic_is_notified_before_the_next_grant) {
  expire_holder([&] { proxy.blackhole(true); }, [&] { proxy.blackhole(false); });
}

// The session is still alive, so the server would accept the write before it removes the node.
TEST_P(expiry, a_released_lock_does_not_validate_a_write_that_waits_for_a_connection) {
  const auto data = fresh_node(wait_queue.zk(), "data");
  client proxied{proxy.connect_string(), quick(60s)};
  recorded_events events;
  mutex a{proxied, wait_queue.path(), events.report(options())};
  a.lock();
  const auto late = a.hold().fenced(transaction{}.set(data, "late"));
  inbox<error_code> under_way;
  proxy.disconnect();
  ASSERT_TRUE(events.suspended.take());
  proxied.async_commit(late, [&](error_code ec, transaction_result) { under_way.put(ec); });
  a.unlock();
  proxy.heal();
  EXPECT_EQ(under_way.take(), error_code{errc::lock_lost});
  EXPECT_TRUE(wait_queue.wait_for(0));
  EXPECT_EQ(wait_queue.zk().get(data).data, "");
}

// The new holder's node has the same name. Only its session differs from that of the old holder.
TEST_P(expiry, a_reused_name_does_not_validate_writes_of_the_previous_holder) {
  const auto data = fresh_node(wait_queue.zk(), "data");
  client proxied{proxy.connect_string(), quick(short_session)};
  client other{shared_server().connect_string()};
  recorded_events events;
  named_mutex a{proxied, wait_queue.path() + "/name", events.report(options())};
  named_mutex b{other, wait_queue.path() + "/name", options()};
  a.lock();
  const auto stale = a.hold().fenced(transaction{}.set(data, "stale"));
  // Submitted during the hold, but not sent before the session ends.
  inbox<error_code> under_way;
  proxy.disconnect();
  ASSERT_TRUE(events.suspended.take());
  proxied.async_commit(stale, [&](error_code ec, transaction_result) { under_way.put(ec); });
  b.lock();
  EXPECT_EQ(b.hold().node(), a.hold().node());
  proxy.heal();
  EXPECT_EQ(under_way.take(), error_code{errc::lock_lost});
  ASSERT_TRUE(proxied.wait_connected(wait_limit));
  EXPECT_EQ(code_of([&] { proxied.commit(stale); }), errc::lock_lost);
  EXPECT_EQ(wait_queue.zk().get(data).data, "");
  a.unlock();
  EXPECT_TRUE(b.held());
  b.unlock();
}

TEST_P(expiry, a_recursive_lock_count_ends_with_its_session) {
  client proxied{proxy.connect_string(), quick(short_session)};
  client other{shared_server().connect_string()};
  recorded_events events;
  recursive_mutex a{proxied, wait_queue.path(), events.report(options())};
  mutex b{other, wait_queue.path(), options()};
  a.lock();
  a.lock();
  const auto token = a.fencing_token();
  proxy.disconnect();
  ASSERT_TRUE(events.lost.take());
  ASSERT_TRUE(wait_queue.wait_for(0)) << "the server has not ended the session";
  b.lock();
  proxy.heal();
  EXPECT_EQ(a.hold_count(), 2u);
  EXPECT_FALSE(a.held());
  EXPECT_EQ(code_of([&] { a.lock(); }), errc::lock_lost) << "held() returned true";
  EXPECT_EQ(code_of([&] { static_cast<void>(a.try_lock()); }), errc::lock_lost);
  a.unlock();
  EXPECT_TRUE(a.held_by_this_thread());
  EXPECT_EQ(code_of([&] { a.lock(); }), errc::lock_lost) << "not all sections have ended";
  a.unlock();
  EXPECT_FALSE(a.held_by_this_thread());
  EXPECT_FALSE(a.try_lock_for(50ms)) << "b holds the lock";
  b.unlock();
  ASSERT_TRUE(a.try_lock_for(wait_limit));
  EXPECT_EQ(a.hold_count(), 1u);
  EXPECT_GT(a.fencing_token(), token);
  a.unlock();
}

TEST_P(expiry, a_waiter_continues_in_a_new_session) {
  client proxied{proxy.connect_string(), quick(500ms)};
  client other{shared_server().connect_string()};
  recorded_events events;
  mutex a{other, wait_queue.path(), options()};
  mutex b{proxied, wait_queue.path(), events.report(options())};
  a.lock();
  auto b_locks = run_async([&] { b.lock(); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  const auto session = proxied.session_id();
  proxy.disconnect();
  ASSERT_TRUE(wait_queue.wait_for(1));
  EXPECT_FALSE(ready(b_locks, 0s));
  proxy.heal();
  ASSERT_TRUE(wait_queue.wait_for(2)) << "the waiter has a new node";
  EXPECT_FALSE(ready(b_locks, 0s));
  a.unlock();
  ASSERT_TRUE(ready(b_locks));
  b_locks.get();
  EXPECT_TRUE(b.held());
  EXPECT_NE(b.hold().session_id(), session);
  EXPECT_EQ(b.hold().session_id(), proxied.session_id());
  EXPECT_EQ(events.lost.size(), 0u) << "nothing was held";
  b.unlock();
  EXPECT_TRUE(wait_queue.wait_for(0));
}

// The reply to the creation arrives, but later replies do not, and the node is deleted with the
// session. The waiter must not report a grant.
TEST_P(expiry, a_session_that_expires_after_the_creation_grants_nothing) {
  client proxied{proxy.connect_string(), quick(500ms)};
  proxied.sync();
  client other{shared_server().connect_string()};
  mutex a{proxied, wait_queue.path(), options()};
  mutex b{other, wait_queue.path(), options()};
  proxy.disconnect_after_server_frames(1, link_proxy::afterwards::refuse_until_heal);
  auto a_locks = run_async([&] {
    a.lock();
    return a.held();
  });
  ASSERT_TRUE(proxy.wait_for_faults(1, 10s));
  ASSERT_TRUE(wait_queue.wait_for(0)) << "the server ends the session";
  b.lock();
  proxy.heal();
  EXPECT_FALSE(ready(a_locks, 100ms)) << "a was granted the lock while b holds it";
  b.unlock();
  ASSERT_TRUE(ready(a_locks));
  EXPECT_TRUE(a_locks.get()) << "granted, but not held";
  a.unlock();
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_P(expiry, a_short_connection_loss_suspends_and_restores_the_hold) {
  client proxied{proxy.connect_string(), quick(30s)};
  recorded_events events;
  mutex m{proxied, wait_queue.path(), events.report(options())};
  m.lock();
  const auto hold = m.hold();
  for (int round = 0; round < 3; ++round) {
    const auto before = hold.remaining();
    EXPECT_GT(before, 20s);
    proxy.disconnect(round % 2 == 0 ? link_proxy::ending::fin : link_proxy::ending::reset);
    ASSERT_TRUE(events.suspended.take());
    EXPECT_TRUE(hold.suspended());
    EXPECT_TRUE(hold.held()) << "suspended is not lost";
    auto while_disconnected = hold.remaining();
    // Without replies, the remaining time decreases.
    const auto disconnected_at = now();
    while (while_disconnected > before - 100ms && now() < disconnected_at + wait_limit) {
      std::this_thread::yield();
      while_disconnected = hold.remaining();
    }
    EXPECT_LE(while_disconnected, before - 100ms);
    EXPECT_EQ(events.restored.size(), 0u);
    proxy.heal();
    ASSERT_TRUE(events.restored.take());
    EXPECT_FALSE(hold.suspended());
    EXPECT_TRUE(hold.held());
    EXPECT_GT(hold.remaining(), while_disconnected) << "the remaining time increases after a reply";
  }
  EXPECT_EQ(events.lost.size(), 0u);
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_EQ(wait_queue.contenders(), std::vector{name_of(hold.node())});
  m.unlock();
  EXPECT_TRUE(wait_queue.wait_for(0));
}

// The node is deleted while the client is disconnected for less than the session timeout.
TEST_P(expiry, a_hold_whose_node_is_deleted_while_disconnected_is_lost) {
  client proxied{proxy.connect_string(), quick(30s)};
  recorded_events events;
  mutex m{proxied, wait_queue.path(), events.report(options())};
  m.lock();
  proxy.disconnect();
  ASSERT_TRUE(events.suspended.take());
  wait_queue.zk().remove(m.hold().node());
  proxy.heal();
  const auto lost = events.lost.take();
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->second, errc::node_deleted);
  EXPECT_EQ(events.restored.size(), 0u);
  m.unlock();
  m.lock();
  EXPECT_TRUE(m.held());
  m.unlock();
}

}  // namespace
}  // namespace conclave::testing
