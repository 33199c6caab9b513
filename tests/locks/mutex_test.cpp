// conclave::mutex on a real server.
#include "conclave/mutex.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "integration/harness.hpp"

namespace conclave::testing {
namespace {

class mutex_test : public ::testing::TestWithParam<bool> {
 protected:
  lock_options options() const {
    lock_options o;
    o.tickets = GetParam();
    return o;
  }
  // Waits until there are n contenders.
  void wait_for_contenders(std::size_t n) {
    for (;;) {
      watch_recorder changed;
      if (zk.children(path, changed.get()).names.size() == n) return;
      ASSERT_TRUE(changed.take());
    }
  }

  client zk{shared_server().connect_string()};
  std::string path = fresh_node(zk, "mutex");
};
INSTANTIATE_TEST_SUITE_P(tickets, mutex_test, ::testing::Values(true, false),
                         [](const auto& i) { return i.param ? "on" : "off"; });

TEST_P(mutex_test, is_handed_off) {
  client other{shared_server().connect_string()};
  mutex a{zk, path, options()};
  mutex b{other, path, options()};
  a.lock();
  EXPECT_TRUE(a.held());
  const auto first = a.fencing_token();
  EXPECT_GT(first, 0);
  EXPECT_FALSE(b.try_lock());
  auto waiting = std::async(std::launch::async, [&] { b.lock(); });
  wait_for_contenders(2);
  const auto old = a.hold();
  a.unlock();
  waiting.get();
  EXPECT_FALSE(old.held());
  EXPECT_FALSE(old.lost().stop_requested()) << "released is not lost";
  EXPECT_TRUE(b.held());
  EXPECT_GT(b.fencing_token(), first);
  b.unlock();
  zk.sync(path);
  other.sync(path);
  EXPECT_TRUE(zk.children(path).names.empty());
}

TEST_P(mutex_test, counts_right_under_contention) {
  int counter = 0;  // deliberately not atomic
  constexpr int threads = 4;
  constexpr int rounds = 50;
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&] {
      client mine{shared_server().connect_string()};
      mutex m{mine, path, options()};
      for (int k = 0; k < rounds; ++k) {
        const std::scoped_lock guard{m};
        ++counter;
      }
    });
  all.clear();
  EXPECT_EQ(counter, threads * rounds);
  EXPECT_TRUE(zk.children(path).names.empty());
}

TEST_P(mutex_test, threads_of_one_object_take_turns) {
  mutex m{zk, path, options()};
  int counter = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        const std::scoped_lock guard{m};
        ++counter;
        ASSERT_LE(zk.children(path).names.size(), 2u) << "one contender waits for all of them";
      }
    });
  all.clear();
  EXPECT_EQ(counter, 200);
}

TEST_P(mutex_test, creates_its_parents) {
  mutex m{zk, path + "/not/there/yet", options()};
  m.lock();
  EXPECT_TRUE(zk.exists(m.hold().node()));
  m.unlock();
}

TEST_P(mutex_test, times_out) {
  client other{shared_server().connect_string()};
  mutex a{zk, path, options()};
  mutex b{other, path, options()};
  a.lock();
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_FALSE(b.try_lock_for(150ms));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 150ms);
  EXPECT_FALSE(b.try_lock_until(std::chrono::system_clock::now() + 50ms));
  EXPECT_FALSE(b.try_lock());
  EXPECT_FALSE(b.try_lock());
  other.sync(path);
  EXPECT_EQ(zk.children(path).names.size(), 1u) << "a node of b is left";
  a.unlock();
  EXPECT_TRUE(b.try_lock_for(10s));
  b.unlock();
}

TEST_P(mutex_test, a_stop_request_ends_the_wait) {
  client other{shared_server().connect_string()};
  mutex a{zk, path, options()};
  mutex b{other, path, options()};
  a.lock();
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return b.lock(stop.get_token()); });
  wait_for_contenders(2);
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  wait_for_contenders(1);
  EXPECT_FALSE(b.lock(stop.get_token())) << "requested before";
  a.unlock();
  EXPECT_TRUE(b.lock(std::stop_token{}));
  b.unlock();
}

TEST_P(mutex_test, works_with_futures_and_coroutines) {
  namespace asio = boost::asio;
  client other{shared_server().connect_string()};
  mutex a{zk, path, options()};
  mutex b{other, path, options()};
  a.async_lock(asio::use_future).get();
  EXPECT_FALSE(b.async_try_lock_for(0s, asio::use_future).get());
  EXPECT_FALSE(b.async_try_lock_for(50ms, asio::use_future).get());
  asio::io_context io;
  bool held = false;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        co_await b.async_lock(asio::use_awaitable);
        held = b.held();
        co_await b.async_unlock(asio::use_awaitable);
      },
      asio::detached);
  auto running = std::async(std::launch::async, [&] { io.run(); });
  wait_for_contenders(2);
  a.async_unlock(asio::use_future).get();
  running.get();
  EXPECT_TRUE(held);
  EXPECT_TRUE(zk.children(path).names.empty());
}

TEST_P(mutex_test, fenced_transactions_are_refused_without_the_lock) {
  mutex m{zk, path, options()};
  const auto data = fresh_node(zk, "data");
  m.lock();
  const auto hold = m.hold();
  zk.commit(hold.fenced(transaction{}.set(data, "one")));
  const auto late = hold.fenced(transaction{}.set(data, "two"));
  client other{shared_server().connect_string()};
  EXPECT_EQ(code_of([&] { other.commit(late); }), errc::lock_lost) << "not its session";
  m.unlock();
  EXPECT_EQ(code_of([&] { zk.commit(late); }), errc::lock_lost);
  inbox<error_code> refused;
  zk.async_commit(late, [&](error_code ec, transaction_result) { refused.put(ec); });
  EXPECT_EQ(refused.take(), error_code{errc::lock_lost});
  EXPECT_EQ(code_of([&] { hold.fenced(transaction{}); }), errc::lock_lost);
  EXPECT_EQ(zk.get(data).data, "one");
}

TEST_P(mutex_test, a_transaction_can_be_fenced_by_several_locks) {
  mutex a{zk, path, options()};
  mutex b{zk, path + "-b", options()};
  const auto data = fresh_node(zk, "data");
  a.lock();
  b.lock();
  const auto both = b.hold().fenced(a.hold().fenced(transaction{}.set(data, "both")));
  zk.commit(transaction{}.append(both));
  EXPECT_EQ(zk.get(data).data, "both");
  a.unlock();
  EXPECT_EQ(code_of([&] { zk.commit(transaction{}.append(both)); }), errc::lock_lost);
  b.unlock();
}

// Other requests are delayed until the batch ends.
TEST_P(mutex_test, works_inside_a_batch) {
  client other{shared_server().connect_string()};
  mutex held{other, path, options()};
  mutex m{zk, path, options()};
  zk.sync();
  const auto batch = zk.begin_batch();
  ASSERT_TRUE(m.try_lock_for(5s));
  auto waits = std::async(std::launch::async, [&] { return held.try_lock_for(5s); });
  m.unlock();
  EXPECT_TRUE(waits.get());
  auto comes_back = std::async(std::launch::async, [&] { return m.try_lock_for(5s); });
  held.unlock();
  EXPECT_TRUE(comes_back.get());
}

// The difference from now overflows the clock's duration.
TEST_P(mutex_test, accepts_extreme_times) {
  client other{shared_server().connect_string()};
  mutex held{other, path, options()};
  mutex m{zk, path, options()};
  held.lock();
  using clock = std::chrono::steady_clock;
  using in_hours = std::chrono::time_point<clock, std::chrono::hours>;
  EXPECT_FALSE(m.try_lock_until(clock::time_point::min()));
  EXPECT_FALSE(m.try_lock_until(in_hours::min()));
  held.unlock();
  EXPECT_TRUE(m.try_lock_until(in_hours::max()));
  m.unlock();
}

}  // namespace
}  // namespace conclave::testing
