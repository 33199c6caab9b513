// Kept locks with real threads and servers (lock_options::keep_for).
#include <atomic>
#include <thread>

#include <boost/asio/use_future.hpp>

#include "conclave/conclave.hpp"
#include "locks/lock_observer.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

class kept_lock : public ::testing::Test {
 protected:
  static lock_options keeping(std::chrono::nanoseconds time = 60s) {
    lock_options o;
    o.keep_for = time;
    return o;
  }
  // Locks and unlocks until the lock is kept: then two holds have the same token.
  static void wait_until_kept(mutex& m) {
    for (std::int64_t last = 0;;) {
      const std::scoped_lock guard{m};
      if (std::exchange(last, m.fencing_token()) == last) return;
    }
  }

  lock_observer wait_queue{"kept"};
  client zk{shared_server().connect_string()}, other{shared_server().connect_string()};
};

TEST_F(kept_lock, sends_nothing_for_a_local_grant) {
  link_proxy proxy{shared_server().port()};
  client counted{proxy.connect_string(), with_timeout(60s)};
  mutex m{counted, wait_queue.path(), keeping()};
  wait_until_kept(m);
  counted.sync();
  const auto before = proxy.client_frames();
  for (int i = 0; i < 10'000; ++i) {
    m.lock();
    m.unlock();
    ASSERT_TRUE(m.try_lock());
    m.unlock();
    ASSERT_TRUE(m.try_lock_for(1s));
    m.unlock();
  }
  m.async_lock(boost::asio::use_future).get();
  m.async_unlock(boost::asio::use_future).get();
  EXPECT_LE(proxy.client_frames() - before, 3u);  // pings
  EXPECT_EQ(wait_queue.contenders().size(), 1u);
}

TEST_F(kept_lock, goes_to_another_contender) {
  mutex m{zk, wait_queue.path(), keeping()}, same{other, wait_queue.path()};
  wait_until_kept(m);
  const auto token = m.fencing_token();
  ASSERT_TRUE(same.try_lock_for(wait_limit));
  EXPECT_GT(same.fencing_token(), token);
  EXPECT_FALSE(m.try_lock());
  same.unlock();
  m.lock();
  EXPECT_TRUE(m.held());
  m.unlock();
}

TEST_F(kept_lock, a_hold_describes_one_acquisition) {
  mutex m{zk, wait_queue.path(), keeping()};
  wait_until_kept(m);
  m.lock();
  const auto first = m.hold();
  EXPECT_TRUE(first.held());
  m.unlock();
  EXPECT_FALSE(first.held());
  m.lock();
  EXPECT_FALSE(first.held());
  EXPECT_TRUE(m.hold().held());
  EXPECT_EQ(m.fencing_token(), first.fencing_token());
  m.unlock();
}

TEST_F(kept_lock, is_released_after_the_time_and_by_the_destructor) {
  {
    mutex m{zk, wait_queue.path(), keeping(50ms)};
    wait_until_kept(m);
    EXPECT_TRUE(wait_queue.wait_for(0));
    wait_until_kept(m);
  }
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_F(kept_lock, can_be_kept_without_a_limit) {
  mutex m{zk, wait_queue.path(), keeping(std::chrono::nanoseconds::max())};
  wait_until_kept(m);
  zk.sync();
  EXPECT_EQ(wait_queue.contenders().size(), 1u);
}

TEST_F(kept_lock, fails_on_a_closed_client) {
  mutex m{zk, wait_queue.path(), keeping()};
  wait_until_kept(m);
  zk.close();
  EXPECT_THROW(m.lock(), error);
  EXPECT_THROW(static_cast<void>(m.try_lock()), error);
}

TEST_F(kept_lock, other_kinds_refuse_the_option) {
  EXPECT_THROW((named_mutex{zk, wait_queue.path() + "/name", keeping()}), error);
  EXPECT_THROW((semaphore{zk, wait_queue.path() + "/slots", 2, keeping()}), error);
}

TEST_F(kept_lock, recursive_several_and_writers_are_kept) {
  recursive_mutex r{zk, wait_queue.path() + "/r", keeping()};
  multi_mutex several{zk, {wait_queue.path() + "/a", wait_queue.path() + "/b"}, keeping()};
  shared_mutex rw{zk, wait_queue.path() + "/rw", keeping()};
  const auto is_kept = [](auto& m) {
    for (std::int64_t last = 0, i = 0; i < 1000; ++i) {
      const std::scoped_lock guard{m};
      if (std::exchange(last, m.hold().fencing_token()) == last) return true;
    }
    return false;
  };
  EXPECT_TRUE(is_kept(r));
  EXPECT_TRUE(is_kept(several));
  EXPECT_TRUE(is_kept(rw));
  rw.lock_shared();  // the kept writer leaves
  rw.unlock_shared();
}

// Threads of one object and of another session, while the lock is recalled, expires by keep_for,
// and its hold is read. The counter is not atomic, so ThreadSanitizer reports missing exclusion.
TEST_F(kept_lock, threads_exclude_each_other_whatever_happens) {
  mutex m{zk, wait_queue.path(), keeping(2ms)}, theirs{other, wait_queue.path()};
  std::atomic<bool> stop{false};
  std::atomic<long> expected{0};
  long counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (long n = 0; !stop; ++n) {
        if (i == 0 && n % 16 == 0) {
          if (!m.try_lock_for(100us)) continue;
        } else if (i == 1 && n % 16 == 0) {
          m.async_lock(boost::asio::use_future).get();
        } else {
          m.lock();
        }
        ++counter;
        if (n % 64 == 0) {
          EXPECT_TRUE(m.held());
        }
        m.unlock();
        ++expected;
      }
    });
  for (int i = 0; i < 40; ++i) {
    theirs.lock();
    ++counter;
    theirs.unlock();
    ++expected;
    if (i % 4 == 0) std::this_thread::yield();
  }
  stop = true;
  for (auto& t : threads) t.join();
  EXPECT_EQ(counter, expected);
}

// hold() makes the lock object close its local lock. No thread that sleeps there may be forgotten.
TEST_F(kept_lock, no_thread_sleeps_forever) {
  mutex m{zk, wait_queue.path(), keeping()};
  for (int round = 0; round < 40; ++round) {
    wait_until_kept(m);
    std::vector<std::future<void>> all;
    for (int t = 0; t < 6; ++t)
      all.push_back(run_async([&, t] {
        for (int i = 0; i < 60; ++i) {
          const std::scoped_lock guard{m};
          const auto until = now() + 20us;
          while (now() < until) {
          }
          if (i % 5 == t % 5) static_cast<void>(m.hold());
        }
      }));
    for (const auto& each : all) ASSERT_TRUE(ready(each)) << "a thread hangs";
  }
}

TEST_F(kept_lock, a_waiting_thread_fails_if_the_object_is_destroyed) {
  for (int i = 0; i < 10; ++i) {
    auto m = std::make_unique<mutex>(zk, wait_queue.path(), keeping());
    wait_until_kept(*m);
    m->lock();
    std::atomic<bool> started{false};
    auto waiter = run_async([&started, raw = m.get()] {
      started = true;
      try {
        raw->lock();
        return error_code{};
      } catch (const error& e) {
        return e.code();
      }
    });
    while (!started) std::this_thread::yield();
    std::this_thread::sleep_for(5ms);  // the thread sleeps in lock()
    m.reset();
    ASSERT_TRUE(ready(waiter));
    EXPECT_EQ(waiter.get(), boost::asio::error::operation_aborted);
    EXPECT_TRUE(wait_queue.wait_for(0));
  }
}

TEST_F(kept_lock, a_downgraded_local_hold_belongs_to_its_thread) {
  shared_mutex m{zk, wait_queue.path(), keeping()};
  for (std::int64_t last = 0;;) {
    const std::scoped_lock guard{m};
    if (std::exchange(last, m.hold().fencing_token()) == last) break;
  }
  m.lock();
  m.downgrade();
  EXPECT_THROW(m.lock(), error);  // this thread would wait for itself
  m.unlock_shared();
}

// The object is destroyed and its client is closed while the lock is kept or in use.
TEST_F(kept_lock, can_be_destroyed_at_any_time) {
  for (int i = 0; i < 30; ++i) {
    client own{shared_server().connect_string()};
    auto m = std::make_unique<mutex>(own, wait_queue.path(), keeping(i % 3 == 0 ? 1ms : 1s));
    wait_until_kept(*m);
    if (i % 2 == 0) m->lock();
    if (i % 5 == 0) own.close();
    m.reset();
  }
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_F(kept_lock, local_grants_end_with_the_session) {
  link_proxy proxy{shared_server().port()};
  client proxied{proxy.connect_string(), with_timeout(4s)};
  mutex m{proxied, wait_queue.path(), keeping()}, same{other, wait_queue.path()};
  wait_until_kept(m);
  std::atomic<bool> stop{false};
  std::vector<hold_interval> all;
  std::thread user{[&] {
    while (!stop) {
      if (!m.try_lock_for(10ms)) continue;
      const auto from = now();
      auto last = from;
      const auto hold = m.hold();
      for (int i = 0; i < 3; ++i) {
        const auto at = now();
        if (hold.held()) last = at;
      }
      all.emplace_back(from, last, hold.fencing_token());
      m.unlock();
    }
  }};
  proxy.disconnect();
  const auto acquired = same.try_lock_for(wait_limit);
  const auto at = now();
  stop = true;
  proxy.heal();
  user.join();
  ASSERT_TRUE(acquired);
  for (const auto& h : all)
    if (h.token < same.fencing_token()) {
      EXPECT_LE(h.to, at);
    }
  same.unlock();
}

}  // namespace
}  // namespace conclave::testing
