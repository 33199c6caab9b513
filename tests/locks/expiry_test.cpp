// What a holder and a waiter see of their session: cut off for a moment, cut off for good.
#include <atomic>
#include <thread>

#include "conclave/named_mutex.hpp"
#include "conclave/recursive_mutex.hpp"
#include "locks/contest.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

// Longer than a busy machine keeps a thread waiting: a tenth of it is what the holder is ahead of
// the server.
constexpr auto short_session = 1500ms;

// What the callbacks of one lock told, and when.
struct told {
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
    o.connect_wait = 60s;  // outages here are as long as a session
    return o;
  }
  // The link goes; the server ends the session and gives the lock to the next.
  template <class Sever, class Mend>
  void lose_it(Sever sever, Mend mend);

  link_proxy proxy{shared_server().port()};
  onlooker line{"expiry"};
};
INSTANTIATE_TEST_SUITE_P(with, expiry, ::testing::Bool(), tickets_name);

template <class Sever, class Mend>
void expiry::lose_it(Sever sever, Mend mend) {
  const auto data = fresh_node(line.zk(), "data");
  client cut_off{proxy.connect_string(), quick(short_session)};
  client other{shared_server().connect_string()};
  told heard;
  mutex a{cut_off, line.path(), heard.report(options())};
  mutex b{other, line.path(), options()};
  a.lock();
  const auto hold = a.hold();
  std::atomic<bool> callback_ran{false};
  const std::stop_callback on_lost{hold.lost(), [&] { callback_ran = true; }};
  const auto stale = hold.fenced(transaction{}.set(data, "stale"));
  auto b_locks = elsewhere([&] {
    b.lock();
    return now();
  });
  ASSERT_TRUE(line.wait_for(2));
  sever();
  const auto lost = heard.lost.take();
  ASSERT_TRUE(lost);
  EXPECT_FALSE(hold.held());
  EXPECT_FALSE(a.held());
  EXPECT_EQ(hold.remaining(), 0ns);
  EXPECT_TRUE(hold.lost().stop_requested());
  EXPECT_TRUE(callback_ran);
  EXPECT_EQ(lost->second, errc::deadline_passed);
  ASSERT_TRUE(ready(b_locks));
  EXPECT_LT(lost->first, b_locks.get()) << "told too late";
  EXPECT_GT(b.fencing_token(), hold.fencing_token());

  // Not even a client that is well connected can use what was lost.
  EXPECT_EQ(code_of([&] { other.commit(stale); }), errc::lock_lost);
  EXPECT_EQ(code_of([&] { cut_off.commit(stale); }), errc::lock_lost);
  mend();
  EXPECT_EQ(code_of([&] { cut_off.commit(stale); }), errc::lock_lost);
  EXPECT_EQ(code_of([&] { hold.fenced(transaction{}); }), errc::lock_lost);
  EXPECT_EQ(line.zk().get(data).data, "");
  a.unlock();
  EXPECT_TRUE(b.held()) << "a's late release harms nobody";
  EXPECT_EQ(line.contenders(), std::vector{name_of(b.hold().node())});
  auto a_locks = elsewhere([&] { a.lock(); });
  ASSERT_TRUE(line.wait_for(2));
  b.unlock();
  ASSERT_TRUE(ready(a_locks));
  a_locks.get();
  EXPECT_TRUE(a.held());
  EXPECT_GT(a.fencing_token(), b.hold().fencing_token());
  a.unlock();
  EXPECT_TRUE(line.wait_for(0));
  EXPECT_EQ(heard.lost.size(), 0u) << "told once";
}

TEST_P(expiry, a_holder_that_is_refused_is_told_before_the_next_one_has_it) {
  lose_it([&] { proxy.cut(); }, [&] { proxy.heal(); });
}

TEST_P(expiry, a_holder_in_silence_is_told_before_the_next_one_has_it) {
  lose_it([&] { proxy.blackhole(true); }, [&] { proxy.blackhole(false); });
}

// Its name comes back at once, so that only the session tells the old holder from the new one.
TEST_P(expiry, a_name_that_comes_back_does_not_fence_its_last_holder) {
  const auto data = fresh_node(line.zk(), "data");
  client cut_off{proxy.connect_string(), quick(short_session)};
  client other{shared_server().connect_string()};
  told heard;
  named_mutex a{cut_off, line.path() + "/name", heard.report(options())};
  named_mutex b{other, line.path() + "/name", options()};
  a.lock();
  const auto stale = a.hold().fenced(transaction{}.set(data, "stale"));
  // Submitted while it is held, and not sent before the session has ended.
  inbox<error_code> under_way;
  proxy.cut();
  ASSERT_TRUE(heard.suspended.take());
  cut_off.async_commit(stale, [&](error_code ec, transaction_result) { under_way.put(ec); });
  b.lock();
  EXPECT_EQ(b.hold().node(), a.hold().node());
  proxy.heal();
  EXPECT_EQ(under_way.take(), error_code{errc::lock_lost});
  ASSERT_TRUE(cut_off.wait_connected(patience));
  EXPECT_EQ(code_of([&] { cut_off.commit(stale); }), errc::lock_lost);
  EXPECT_EQ(line.zk().get(data).data, "");
  a.unlock();
  EXPECT_TRUE(b.held());
  b.unlock();
}

TEST_P(expiry, a_count_of_locks_ends_with_the_session_it_was_made_in) {
  client cut_off{proxy.connect_string(), quick(short_session)};
  client other{shared_server().connect_string()};
  told heard;
  recursive_mutex a{cut_off, line.path(), heard.report(options())};
  mutex b{other, line.path(), options()};
  a.lock();
  a.lock();
  const auto token = a.fencing_token();
  proxy.cut();
  ASSERT_TRUE(heard.lost.take());
  ASSERT_TRUE(line.wait_for(0)) << "the server has not ended the session";
  b.lock();
  proxy.heal();
  EXPECT_EQ(a.hold_count(), 2u);
  EXPECT_FALSE(a.held());
  EXPECT_EQ(code_of([&] { a.lock(); }), errc::lock_lost) << "said yes";
  EXPECT_EQ(code_of([&] { static_cast<void>(a.try_lock()); }), errc::lock_lost);
  a.unlock();
  EXPECT_TRUE(a.held_by_this_thread());
  EXPECT_EQ(code_of([&] { a.lock(); }), errc::lock_lost) << "not all sections have ended";
  a.unlock();
  EXPECT_FALSE(a.held_by_this_thread());
  EXPECT_FALSE(a.try_lock_for(50ms)) << "b has it";
  b.unlock();
  ASSERT_TRUE(a.try_lock_for(patience));
  EXPECT_EQ(a.hold_count(), 1u);
  EXPECT_GT(a.fencing_token(), token);
  a.unlock();
}

TEST_P(expiry, a_waiter_goes_on_in_its_next_session) {
  client cut_off{proxy.connect_string(), quick(500ms)};
  client other{shared_server().connect_string()};
  told heard;
  mutex a{other, line.path(), options()};
  mutex b{cut_off, line.path(), heard.report(options())};
  a.lock();
  auto b_locks = elsewhere([&] { b.lock(); });
  ASSERT_TRUE(line.wait_for(2));
  const auto session = cut_off.session_id();
  proxy.cut();
  ASSERT_TRUE(line.wait_for(1));
  EXPECT_FALSE(ready(b_locks, 0s));
  proxy.heal();
  ASSERT_TRUE(line.wait_for(2)) << "it takes a new place";
  EXPECT_FALSE(ready(b_locks, 0s));
  a.unlock();
  ASSERT_TRUE(ready(b_locks));
  b_locks.get();
  EXPECT_TRUE(b.held());
  EXPECT_NE(b.hold().session_id(), session);
  EXPECT_EQ(b.hold().session_id(), cut_off.session_id());
  EXPECT_EQ(heard.lost.size(), 0u) << "nothing was held";
  b.unlock();
  EXPECT_TRUE(line.wait_for(0));
}

// The answer to the creation comes through; that to what else has to be asked does not, and with
// the session the place in the line is gone. To be told of a grant then would be to be told wrong.
TEST_P(expiry, a_session_that_ends_behind_the_creation_grants_nothing) {
  client cut_off{proxy.connect_string(), quick(500ms)};
  cut_off.sync();
  client other{shared_server().connect_string()};
  mutex a{cut_off, line.path(), options()};
  mutex b{other, line.path(), options()};
  proxy.cut_after_server_frames(1, link_proxy::afterwards::refuse_until_heal);
  auto a_locks = elsewhere([&] {
    a.lock();
    return a.held();
  });
  ASSERT_TRUE(proxy.wait_for_faults(1, 10s));
  ASSERT_TRUE(line.wait_for(0)) << "the server ends the session";
  b.lock();
  proxy.heal();
  EXPECT_FALSE(ready(a_locks, 100ms)) << "b holds it; a was granted what it does not have";
  b.unlock();
  ASSERT_TRUE(ready(a_locks));
  EXPECT_TRUE(a_locks.get()) << "granted, but not held";
  a.unlock();
  EXPECT_TRUE(line.wait_for(0));
}

TEST_P(expiry, a_short_cut_suspends_and_restores) {
  client cut_off{proxy.connect_string(), quick(30s)};
  told heard;
  mutex m{cut_off, line.path(), heard.report(options())};
  m.lock();
  const auto hold = m.hold();
  for (int round = 0; round < 3; ++round) {
    const auto before = hold.remaining();
    EXPECT_GT(before, 20s);
    proxy.cut(round % 2 == 0 ? link_proxy::ending::fin : link_proxy::ending::reset);
    ASSERT_TRUE(heard.suspended.take());
    EXPECT_TRUE(hold.suspended());
    EXPECT_TRUE(hold.held()) << "suspended is not lost";
    auto while_cut = hold.remaining();
    // Nothing is heard, so it falls.
    const auto cut_at = now();
    while (while_cut > before - 100ms && now() < cut_at + patience) {
      std::this_thread::yield();
      while_cut = hold.remaining();
    }
    EXPECT_LE(while_cut, before - 100ms);
    EXPECT_EQ(heard.restored.size(), 0u);
    proxy.heal();
    ASSERT_TRUE(heard.restored.take());
    EXPECT_FALSE(hold.suspended());
    EXPECT_TRUE(hold.held());
    EXPECT_GT(hold.remaining(), while_cut) << "the server was heard again";
  }
  EXPECT_EQ(heard.lost.size(), 0u);
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_EQ(line.contenders(), std::vector{name_of(hold.node())});
  m.unlock();
  EXPECT_TRUE(line.wait_for(0));
}

// A cut shorter than the session, in which the node is deleted: it must not be restored.
TEST_P(expiry, a_node_deleted_during_a_cut_is_lost_not_restored) {
  client cut_off{proxy.connect_string(), quick(30s)};
  told heard;
  mutex m{cut_off, line.path(), heard.report(options())};
  m.lock();
  proxy.cut();
  ASSERT_TRUE(heard.suspended.take());
  line.zk().remove(m.hold().node());
  proxy.heal();
  const auto lost = heard.lost.take();
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->second, errc::node_deleted);
  EXPECT_EQ(heard.restored.size(), 0u);
  m.unlock();
  m.lock();
  EXPECT_TRUE(m.held());
  m.unlock();
}

}  // namespace
}  // namespace conclave::testing
