// Deadlocks of real threads on a real server: what the data of the nodes proves, and what it does
// not.
#include <future>
#include <latch>
#include <thread>

#include <boost/asio/use_future.hpp>

#include "conclave/multi_mutex.hpp"
#include "conclave/mutex.hpp"
#include "conclave/semaphore.hpp"
#include "conclave/shared_mutex.hpp"
#include "conclave/wait_graph.hpp"
#include "locks/wait_for_children.hpp"

namespace conclave::testing {
namespace {

class deadlocked : public ::testing::Test {
 protected:
  // Waits until there is a deadlock, and returns it.
  deadlock find() {
    std::vector<deadlock> found;
    EXPECT_TRUE(eventually([&] {
      found = find_deadlocks(zk, {path});
      return !found.empty();
    })) << "no deadlock was found";
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? deadlock{} : found.front();
  }
  template <class Condition>
  static bool eventually(Condition c) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < end) {
      if (c()) return true;
      std::this_thread::sleep_for(2ms);
    }
    return false;
  }
  // Ends the waits of the other client, whose call fails.
  template <class Task>
  void resolve(Task& failing, std::future<void>& continuing) {
    other.close();
    EXPECT_THROW(failing.get(), error);
    continuing.get();
  }
  lock_options named(const char* owner) {
    lock_options o;
    o.owner = owner;
    return o;
  }

  client zk{shared_server().connect_string()};
  client other{shared_server().connect_string()};
  std::string path = fresh_node(zk, "deadlock");
  mutex ax{zk, path + "/x", named("A")}, ay{zk, path + "/y", named("A")};
  mutex bx{other, path + "/x", named("B")}, by{other, path + "/y", named("B")};
};

TEST_F(deadlocked, two_threads_are_certain) {
  std::latch both{2};
  auto a = std::async(std::launch::async, [&] {
    const std::lock_guard first{ax};
    both.arrive_and_wait();
    const std::lock_guard second{ay};
  });
  auto b = std::async(std::launch::async, [&] {
    const std::lock_guard first{by};
    both.arrive_and_wait();
    const std::lock_guard second{bx};
  });
  const auto d = find();
  EXPECT_TRUE(d.certain);
  EXPECT_EQ(d.members.size(), 2u);
  EXPECT_TRUE(confirm(zk, d));
  EXPECT_NE(explain(d).find("A holds " + path + "/x and waits for " + path + "/y"),
            std::string::npos)
      << explain(d);
  resolve(b, a);
  EXPECT_FALSE(confirm(zk, d));
  EXPECT_TRUE(find_deadlocks(zk, {path}).empty());
}

TEST_F(deadlocked, threads_of_one_client_are_told_apart) {
  mutex bx_same{zk, path + "/x"};
  std::latch locked{2};
  std::latch checked{1};
  auto a = std::async(std::launch::async, [&] {
    const std::lock_guard first{ax};
    locked.arrive_and_wait();
    checked.wait();
  });
  auto b = std::async(std::launch::async, [&] {
    const std::lock_guard first{by};
    locked.arrive_and_wait();
    const std::lock_guard second{bx_same};
  });
  auto c = std::async(std::launch::async, [&] {  // a thread of A's client, which does not hold x
    locked.wait();
    const std::lock_guard second{ay};
  });
  wait_for_children(zk, path + "/x", 2);
  wait_for_children(zk, path + "/y", 2);
  const wait_graph g{inspect(zk, {path})};
  EXPECT_TRUE(g.deadlocks().empty());
  ASSERT_EQ(g.seen().recipes.size(), 2u);
  EXPECT_TRUE(g.waits_of({0, 0}).empty()) << "the thread that holds x does not wait";
  checked.count_down();
  a.get();
  b.get();
  c.get();
}

TEST_F(deadlocked, other_kinds_of_locks_are_certain) {
  semaphore sa{zk, path + "/s", 1}, sb{other, path + "/s", 1};
  shared_mutex ra{zk, path + "/r"}, wb{other, path + "/r"};
  multi_mutex ma{zk, {path + "/x", path + "/y"}};
  std::latch both{2};
  auto b = std::async(std::launch::async, [&] {
    wb.lock();
    by.lock();
    both.arrive_and_wait();
    sb.acquire();
  });
  auto a = std::async(std::launch::async, [&] {
    sa.acquire();
    both.arrive_and_wait();
    ma.lock();
    ma.unlock();
    sa.release();
  });
  const auto d = find();
  EXPECT_TRUE(d.certain);
  resolve(b, a);
  ra.lock_shared();
  ra.unlock_shared();
}

TEST_F(deadlocked, a_writer_that_waits_for_its_own_reader_is_certain) {
  shared_mutex again{other, path + "/r"}, reader{other, path + "/r"};
  auto b = std::async(std::launch::async, [&] {
    reader.lock_shared();
    again.lock();
  });
  const auto d = find();
  EXPECT_TRUE(d.certain);
  EXPECT_EQ(d.members.size(), 1u);
  other.close();
  EXPECT_THROW(b.get(), error);
}

TEST_F(deadlocked, limited_and_stoppable_waits_are_possible_only) {
  std::latch both{2};
  std::stop_source stop;
  auto a = std::async(std::launch::async, [&] {
    const std::lock_guard first{ax};
    both.arrive_and_wait();
    if (ay.lock(stop.get_token())) ay.unlock();
  });
  auto b = std::async(std::launch::async, [&] {
    const std::lock_guard first{by};
    both.arrive_and_wait();
    if (bx.try_lock_for(1h)) bx.unlock();
  });
  const auto d = find();
  EXPECT_FALSE(d.certain);
  ASSERT_EQ(d.members.size(), 2u);
  EXPECT_TRUE(d.members[0].has_time_limit && d.members[1].has_time_limit);
  stop.request_stop();
  a.get();
  b.get();
}

TEST_F(deadlocked, asynchronous_calls_are_possible_unless_the_program_knows_more) {
  ax.async_lock(boost::asio::use_future).get();
  by.async_lock(boost::asio::use_future).get();
  auto a = ay.async_lock(boost::asio::use_future);
  auto b = bx.async_lock(boost::asio::use_future);
  EXPECT_FALSE(find().certain);
  other.close();
  EXPECT_THROW(b.get(), boost::system::system_error);
  a.get();
  ay.unlock();
  ax.unlock();
}

TEST_F(deadlocked, a_program_can_state_the_locks_of_its_task) {
  const auto holding = [&](mutex& held) {
    lock_options o;
    o.held_while_waiting = [&held] { return task_holds{{held.hold().id()}, {}, false}; };
    return o;
  };
  mutex ay_task{zk, path + "/y", holding(ax)}, bx_task{other, path + "/x", holding(by)};
  ax.async_lock(boost::asio::use_future).get();
  by.async_lock(boost::asio::use_future).get();
  EXPECT_EQ(ax.hold().id().size(), 32u);
  auto a = ay_task.async_lock(boost::asio::use_future);
  auto b = bx_task.async_lock(boost::asio::use_future);
  EXPECT_TRUE(find().certain);
  other.close();
  EXPECT_THROW(b.get(), boost::system::system_error);
  a.get();
  ay_task.unlock();
  ax.unlock();
}

TEST_F(deadlocked, a_kept_lock_does_not_count_for_the_thread_that_acquired_it_first) {
  lock_options keeping;
  keeping.keep_for = 1h;
  mutex kept{other, path + "/k", keeping};
  mutex ak{zk, path + "/k"};
  ay.lock();
  std::promise<void> used;
  auto first = std::async(std::launch::async, [&] {
    kept.lock();
    kept.unlock();  // `other` keeps the lock
    used.set_value();
    by.lock();  // waits, while a different thread holds the kept lock
    by.unlock();
  });
  used.get_future().wait();
  kept.lock();
  wait_for_children(zk, path + "/y", 2);
  auto waiter = std::async(std::launch::async, [&] {
    ak.lock();  // this thread holds nothing
    ak.unlock();
  });
  wait_for_children(zk, path + "/k", 2);
  for (const auto& d : wait_graph{inspect(zk, {path})}.deadlocks()) EXPECT_FALSE(d.certain);
  ay.unlock();
  first.get();
  kept.unlock();
  waiter.get();
}

// The last test: what a process has done once counts from then on.
TEST_F(deadlocked, a_process_whose_threads_release_for_each_other_proves_nothing) {
  ax.lock();
  std::async(std::launch::async, [&] { ax.unlock(); }).get();
  std::latch both{2};
  auto a = std::async(std::launch::async, [&] {
    ax.lock();
    both.arrive_and_wait();
    const std::lock_guard second{ay};
    ax.unlock();
  });
  auto b = std::async(std::launch::async, [&] {
    const std::lock_guard first{by};
    both.arrive_and_wait();
    const std::lock_guard second{bx};
  });
  EXPECT_FALSE(find().certain);
  ax.unlock();  // a different thread resolves it
  b.get();
  a.get();
}

}  // namespace
}  // namespace conclave::testing
