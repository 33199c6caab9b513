// multi_mutex, named_mutex, recursive_mutex, contenders() and revocation on a real server.
#include <future>
#include <mutex>
#include <thread>

#include "conclave/contenders.hpp"
#include "conclave/multi_mutex.hpp"
#include "conclave/named_mutex.hpp"
#include "conclave/recursive_mutex.hpp"
#include "conclave/shared_mutex.hpp"
#include "locks/wait_for_children.hpp"

namespace conclave::testing {
namespace {

class lock_kinds : public ::testing::Test {
 protected:
  client zk{shared_server().connect_string()};
  client other{shared_server().connect_string()};
  std::string path = fresh_node(zk, "kinds");
};

using multi_mutex_test = lock_kinds;

TEST_F(multi_mutex_test, holds_all_or_none) {
  multi_mutex both{zk, {path + "/a", path + "/b", path + "/a"}};
  mutex a{other, path + "/a"};
  mutex b{other, path + "/b"};
  b.lock();
  EXPECT_FALSE(both.try_lock());
  wait_for_children(zk, path + "/a", 0);  // the attempt's nodes are removed after the call
  EXPECT_TRUE(a.try_lock()) << "a node is left on the other path";
  a.unlock();
  auto waiting = std::async(std::launch::async, [&] { both.lock(); });
  wait_for_children(zk, path + "/b", 2);
  b.unlock();
  waiting.get();
  EXPECT_FALSE(a.try_lock());
  EXPECT_FALSE(b.try_lock());
  EXPECT_GT(both.fencing_token(), 0);
  zk.commit(both.hold().fenced(transaction{}));
  both.unlock();
  wait_for_children(zk, path + "/a", 0);
  wait_for_children(zk, path + "/b", 0);
}

TEST_F(multi_mutex_test, two_in_any_order_do_not_deadlock) {
  int counter = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&, i] {
      client mine{shared_server().connect_string()};
      std::vector<std::string> paths{path + "/a", path + "/b", path + "/c"};
      std::rotate(paths.begin(), paths.begin() + i % 3, paths.end());
      multi_mutex m{mine, paths};
      for (int k = 0; k < 25; ++k) {
        const std::scoped_lock guard{m};
        ++counter;
      }
    });
  all.clear();
  EXPECT_EQ(counter, 100);
}

using named_mutex_test = lock_kinds;

TEST_F(named_mutex_test, is_the_node_of_that_name) {
  named_mutex a{zk, path + "/the-lock"};
  named_mutex b{other, path + "/the-lock"};
  a.lock();
  EXPECT_EQ(a.hold().node(), path + "/the-lock");
  EXPECT_EQ(zk.exists(path + "/the-lock")->ephemeral_owner, zk.session_id());
  EXPECT_FALSE(b.try_lock());
  EXPECT_FALSE(b.try_lock());
  EXPECT_FALSE(b.try_lock_for(50ms));
  auto waiting = std::async(std::launch::async, [&] { b.lock(); });
  a.unlock();
  waiting.get();
  EXPECT_GT(b.fencing_token(), a.fencing_token());
  b.unlock();
}

TEST_F(named_mutex_test, does_not_validate_writes_of_a_previous_holder) {
  const auto data = fresh_node(zk, "data");
  named_mutex a{zk, path + "/the-lock"};
  named_mutex b{other, path + "/the-lock"};
  a.lock();
  const auto late = a.hold().fenced(transaction{}.set(data, "late"));
  a.unlock();
  b.lock();
  EXPECT_EQ(code_of([&] { zk.commit(late); }), errc::lock_lost);
  EXPECT_EQ(zk.get(data).data, "");
  b.unlock();
}

TEST_F(named_mutex_test, can_be_a_child_of_the_root) {
  named_mutex a{zk, path + "-lock"};
  named_mutex b{other, path + "-lock"};
  a.lock();
  EXPECT_EQ(a.hold().node(), path + "-lock");
  auto waiting = std::async(std::launch::async, [&] { b.lock(); });
  a.unlock();
  waiting.get();
  b.unlock();
}

TEST_F(named_mutex_test, counts_right_under_contention) {
  int counter = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] {
      client mine{shared_server().connect_string()};
      named_mutex m{mine, path + "/lock"};
      for (int k = 0; k < 25; ++k) {
        const std::scoped_lock guard{m};
        ++counter;
      }
    });
  all.clear();
  EXPECT_EQ(counter, 100);
}

using recursive_mutex_test = lock_kinds;

TEST_F(recursive_mutex_test, the_same_thread_locks_again) {
  recursive_mutex m{zk, path};
  EXPECT_FALSE(m.held_by_this_thread());
  m.lock();
  const std::scoped_lock again{m};
  EXPECT_TRUE(m.try_lock());
  EXPECT_TRUE(m.try_lock_for(1s));
  EXPECT_EQ(m.hold_count(), 4u);
  EXPECT_EQ(zk.children(path).names.size(), 1u);
  std::jthread{[&] {
    EXPECT_FALSE(m.held_by_this_thread());
    EXPECT_EQ(m.hold_count(), 0u);
    EXPECT_FALSE(m.try_lock());
    m.unlock();  // no effect: another thread holds the lock
  }}.join();
  m.unlock();
  m.unlock();
  m.unlock();
  EXPECT_EQ(m.hold_count(), 1u);
  EXPECT_TRUE(m.held());
}

TEST_F(recursive_mutex_test, a_lost_lock_is_not_locked_again) {
  lock_options watchful;
  watchful.on_revocation = [](const hold&) {};  // so the holder watches its node from the beginning
  recursive_mutex m{zk, path, watchful};
  m.lock();
  m.lock();
  inbox<int> losses;
  const std::stop_callback on_loss{m.lost(), [&] { losses.put(1); }};
  zk.sync(path);  // after the request that sets the watch
  other.remove(m.hold().node());
  ASSERT_TRUE(losses.take());
  EXPECT_FALSE(m.held());
  EXPECT_TRUE(m.held_by_this_thread());
  try {
    m.lock();
    ADD_FAILURE() << "held() returned true";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::lock_lost);
  }
  m.unlock();
  m.unlock();
  m.lock();
  EXPECT_TRUE(m.held());
  m.unlock();
}

// Its node would look like a contender of the parent's lock.
TEST_F(lock_kinds, refuse_paths_that_look_like_a_contender) {
  const auto at = path + "/lock-1763287000";
  EXPECT_EQ(code_of([&] { mutex(zk, at); }), errc::invalid_path);
  EXPECT_EQ(code_of([&] { recursive_mutex(zk, at); }), errc::invalid_path);
  EXPECT_EQ(code_of([&] { named_mutex(zk, at); }), errc::invalid_path);
  EXPECT_EQ(code_of([&] { shared_mutex(zk, at + "/below"); }), errc::invalid_path);
  EXPECT_EQ(code_of([&] { multi_mutex(zk, {path, at}); }), errc::invalid_path);
  lock_options own;
  own.layout = layout::custom("job-");
  EXPECT_EQ(code_of([&] { mutex(zk, path + "/job-1763287000", own); }), errc::invalid_path);
  EXPECT_TRUE(zk.children(path).names.empty());
}

using contenders_test = lock_kinds;

TEST_F(contenders_test, are_listed_in_their_order) {
  lock_options named;
  named.owner = "the first";
  EXPECT_TRUE(contenders(zk, path).empty());
  EXPECT_TRUE(contenders(zk, path + "/nothing").empty());
  mutex a{zk, path, named};
  inbox<std::size_t> before;
  lock_options counting;
  counting.on_enqueued = [&](std::size_t n) { before.put(n); };
  mutex b{other, path, counting};
  a.lock();
  auto waiting = std::async(std::launch::async, [&] { b.lock(); });
  EXPECT_EQ(before.take(), 1u);
  const auto entries = contenders(zk, path);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries[0].holds);
  EXPECT_EQ(entries[0].owner, "the first");
  EXPECT_EQ(entries[0].session_id, zk.session_id());
  EXPECT_EQ(entries[0].fencing_token, a.fencing_token());
  EXPECT_EQ(entries[0].node, a.hold().node());
  EXPECT_LT(std::chrono::system_clock::now() - entries[0].since, 1min);
  EXPECT_FALSE(entries[1].holds);
  EXPECT_NE(entries[1].owner.find(std::to_string(::getpid())), std::string::npos);
  ASSERT_TRUE(entries[0].granted);
  EXPECT_TRUE(entries[0].granted->exact());
  EXPECT_EQ(entries[0].granted->earliest, entries[0].since);
  EXPECT_FALSE(entries[1].granted);
  a.unlock();
  waiting.get();
  const auto next = contenders(zk, path);
  ASSERT_EQ(next.size(), 1u);
  ASSERT_TRUE(next[0].granted);
  EXPECT_TRUE(next[0].granted->exact());
  EXPECT_GE(next[0].granted->earliest, next[0].since);
  EXPECT_FALSE(next[0].asked_to_release);
  b.unlock();
}

TEST_F(contenders_test, a_holder_can_be_asked_to_release) {
  inbox<int> asked;
  lock_options options;
  options.on_revocation = [&](const hold& h) {
    EXPECT_TRUE(h.held());
    asked.put(1);
  };
  mutex a{zk, path, options};
  mutex b{other, path};
  a.lock();
  auto waiting = std::async(std::launch::async, [&] { b.lock(); });
  wait_for_children(zk, path, 2);
  ask_to_release(other, contenders(other, path)[0].node);
  ASSERT_TRUE(asked.take());
  EXPECT_TRUE(a.held());
  const auto holder = contenders(other, path)[0];
  EXPECT_TRUE(holder.asked_to_release);
  EXPECT_NE(holder.owner.find(std::to_string(::getpid())), std::string::npos);
  a.unlock();
  waiting.get();
  EXPECT_EQ(asked.size(), 0u);
  b.unlock();
}

}  // namespace
}  // namespace conclave::testing
