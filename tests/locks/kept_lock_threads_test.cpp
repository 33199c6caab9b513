// Threads that use one kept lock when its client is closed or its object is destroyed
// (lock_options::keep_for).
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "conclave/conclave.hpp"
#include "locks/lock_observer.hpp"

namespace conclave::testing {
namespace {

constexpr int thread_count = 4;

class kept_lock_threads : public ::testing::Test {
 protected:
  static lock_options keeping(std::chrono::nanoseconds time = 60s) {
    lock_options o;
    o.keep_for = time;
    return o;
  }
  // Acquires the lock in different ways. Returns false if it is busy.
  static bool acquire(mutex& m, long n) {
    switch (n % 16) {
      case 5: return m.try_lock();
      case 10: return m.try_lock_for(1ms);
      case 15: return m.lock(std::stop_token{});
      default: m.lock(); return true;
    }
  }
  // Waits without a sleep until the condition holds. Returns false on a timeout.
  template <class Condition>
  static bool until(Condition holds) {
    const auto limit = now() + wait_limit;
    while (!holds())
      if (now() > limit)
        return false;
      else
        std::this_thread::yield();
    return true;
  }

  lock_observer wait_queue{"kept_threads"};
  client other{shared_server().connect_string()};
  mutex theirs{other, wait_queue.path()};
};

// Every thread fails with errc::closed, whether it holds the lock, waits for it or calls lock().
// The counter is not atomic, so ThreadSanitizer reports missing exclusion.
TEST_F(kept_lock_threads, fail_when_the_client_is_closed) {
  for (int round = 0; round < 12; ++round) {
    const bool only_lock = round % 2 == 0;  // no call makes the object close its local lock
    client own{shared_server().connect_string()};
    mutex m{own, wait_queue.path(), keeping(round % 3 == 0 ? 1ms : 60s)};
    std::atomic<bool> stop{false};
    std::atomic<long> holds{0};
    long counter = 0;
    std::vector<std::future<error_code>> users;
    for (int t = 0; t < thread_count; ++t)
      users.push_back(run_async([&, t] {
        return code_of([&] {
          for (long n = t; !stop; ++n) {
            if (!acquire(m, only_lock ? 0 : n)) continue;
            const std::lock_guard guard{m, std::adopt_lock};
            ++counter;
            ++holds;
            if (!only_lock && n % 50 == 0) static_cast<void>(m.hold());
          }
        });
      }));
    EXPECT_TRUE(until([&] { return holds > 500; }));
    own.close();
    const bool all_ended =
        std::all_of(users.begin(), users.end(), [](auto& u) { return ready(u); });
    stop = true;
    ASSERT_TRUE(all_ended) << "a thread does not fail";
    for (auto& u : users) EXPECT_EQ(u.get(), errc::closed);
    EXPECT_EQ(counter, holds);
    ASSERT_TRUE(theirs.try_lock_for(wait_limit));
    theirs.unlock();
  }
}

// The last thread has returned from unlock(), and the object is destroyed at once. At that time the
// lock is kept, recalled by another contender, or released after keep_for.
TEST_F(kept_lock_threads, may_have_returned_just_before_the_object_is_destroyed) {
  client own{shared_server().connect_string()};
  for (int round = 0; round < 60; ++round) {
    auto m = std::make_unique<mutex>(own, wait_queue.path(), keeping(round % 3 == 0 ? 1ms : 60s));
    std::atomic<int> left{thread_count};
    long counter = 0;
    std::vector<std::future<void>> users;
    for (int t = 0; t < thread_count; ++t)
      users.push_back(run_async([&, t, raw = m.get()] {
        for (long n = t; n < t + 100; ++n) {
          if (!acquire(*raw, n)) continue;
          const std::lock_guard guard{*raw, std::adopt_lock};
          ++counter;
        }
        --left;
      }));
    std::future<void> contender;
    if (round % 2 == 0)
      contender = run_async([&] {
        const std::lock_guard guard{theirs};
        EXPECT_TRUE(theirs.held());
      });
    ASSERT_TRUE(until([&] { return left == 0; })) << "a thread hangs";
    m.reset();
    EXPECT_GT(counter, 0);
    if (contender.valid()) {
      ASSERT_TRUE(ready(contender)) << "the lock was not released";
    }
    ASSERT_TRUE(wait_queue.wait_for(0)) << "a node was left";
  }
}

}  // namespace
}  // namespace conclave::testing
