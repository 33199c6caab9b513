// conclave::mutex works with the standard library like std::timed_mutex.
#include <mutex>
#include <thread>
#include <type_traits>

#include "locks/lock_observer.hpp"

namespace conclave::testing {
namespace {

template <class M>
concept basic_lockable = requires(M m) {
  { m.lock() } -> std::same_as<void>;
  { m.unlock() } -> std::same_as<void>;
  requires noexcept(m.unlock());
};
template <class M>
concept lockable = basic_lockable<M> && requires(M m) {
  { m.try_lock() } -> std::same_as<bool>;
};
template <class M>
concept timed_lockable = lockable<M> && requires(M m) {
  { m.try_lock_for(std::chrono::milliseconds{1}) } -> std::same_as<bool>;
  { m.try_lock_for(std::chrono::duration<double>{1}) } -> std::same_as<bool>;
  { m.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { m.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
};
static_assert(timed_lockable<mutex>);
static_assert(!std::is_copy_constructible_v<mutex> && !std::is_copy_assignable_v<mutex>);
static_assert(!std::is_move_constructible_v<mutex> && !std::is_move_assignable_v<mutex>);

class std_locks : public ::testing::Test {
 protected:
  client zk{shared_server().connect_string()};
  client peer{shared_server().connect_string()};
  lock_observer one_line{"std"};
  lock_observer other_line{"std"};
  mutex one{zk, one_line.path()};
  mutex other{zk, other_line.path()};
  mutex rival{peer, one_line.path()};
};

TEST_F(std_locks, lock_guard_and_unique_lock) {
  {
    const std::lock_guard guard{one};
    EXPECT_TRUE(one.held());
  }
  EXPECT_TRUE(one_line.wait_for(0));
  std::unique_lock lock{one, std::defer_lock};
  EXPECT_FALSE(lock.owns_lock());
  lock.lock();
  EXPECT_TRUE(one.held());
  EXPECT_THROW(lock.lock(), std::system_error) << "owned already, says the standard library";
  std::unique_lock moved{std::move(lock)};
  EXPECT_TRUE(moved.owns_lock());
  moved.unlock();
  EXPECT_FALSE(one.held());
  EXPECT_TRUE(one_line.wait_for(0));
}

TEST_F(std_locks, unique_lock_with_a_timeout) {
  const std::lock_guard guard{rival};
  EXPECT_FALSE((std::unique_lock{one, std::try_to_lock}));
  auto begun = now();
  EXPECT_FALSE((std::unique_lock{one, 30ms}));
  EXPECT_GE(now() - begun, 30ms);
  begun = now();
  EXPECT_FALSE((std::unique_lock{one, std::chrono::steady_clock::now() + 30ms}));
  EXPECT_GE(now() - begun, 30ms);
  EXPECT_FALSE((std::unique_lock{one, std::chrono::system_clock::now() - 1h}));
  EXPECT_FALSE((std::unique_lock{one, -1h}));
  EXPECT_TRUE((std::unique_lock{other, 1h})) << "free";
  EXPECT_TRUE((std::unique_lock{other, std::chrono::hours::max()})) << "too long to be added up";
}

TEST_F(std_locks, scoped_lock_of_two_mutexes) {
  {
    const std::scoped_lock both{one, other};
    EXPECT_TRUE(one.held() && other.held());
  }
  EXPECT_TRUE(one_line.wait_for(0));
  EXPECT_TRUE(other_line.wait_for(0));
}

// std::lock must avoid a deadlock.
TEST_F(std_locks, opposite_orders_do_not_deadlock) {
  mutex other_rival{peer, other_line.path()};
  int counter = 0;  // deliberately not atomic
  auto mine = run_async([&] {
    for (int i = 0; i < 30; ++i) {
      const std::scoped_lock both{one, other};
      ++counter;
    }
  });
  auto theirs = run_async([&] {
    for (int i = 0; i < 30; ++i) {
      std::lock(other_rival, rival);
      ++counter;
      rival.unlock();
      other_rival.unlock();
    }
  });
  ASSERT_TRUE(ready(mine));
  ASSERT_TRUE(ready(theirs));
  mine.get();
  theirs.get();
  EXPECT_EQ(counter, 60);
  EXPECT_TRUE(one_line.wait_for(0));
  EXPECT_TRUE(other_line.wait_for(0));
}

TEST_F(std_locks, std_try_lock_returns_the_index_of_a_held_mutex) {
  const std::lock_guard guard{rival};
  EXPECT_EQ(std::try_lock(other, one), 1);
  EXPECT_FALSE(other.held()) << "given back";
  EXPECT_TRUE(other_line.wait_for(0));
}

TEST_F(std_locks, together_with_a_std_mutex) {
  std::mutex local;
  const std::scoped_lock both{local, one};
  EXPECT_TRUE(one.held());
}

TEST_F(std_locks, unlock_by_another_thread) {
  one.lock();
  std::jthread{[&] { one.unlock(); }}.join();
  EXPECT_FALSE(one.held());
  EXPECT_TRUE(one_line.wait_for(0));
}

}  // namespace
}  // namespace conclave::testing
