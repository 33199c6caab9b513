// conclave::semaphore on a real server.
#include "conclave/semaphore.hpp"

#include <atomic>
#include <future>
#include <thread>

#include <boost/asio/use_future.hpp>

#include "locks/wait_for_children.hpp"

namespace conclave::testing {
namespace {

class semaphore_test : public ::testing::Test {
 protected:
  client zk{shared_server().connect_string()};
  client other{shared_server().connect_string()};
  std::string path = fresh_node(zk, "semaphore");
};

TEST_F(semaphore_test, grants_all_permits) {
  semaphore a{zk, path, 3};
  semaphore b{other, path, 3};
  a.acquire();
  b.acquire();
  EXPECT_TRUE(a.try_acquire_for(10s));
  EXPECT_FALSE(b.try_acquire());
  EXPECT_FALSE(b.try_acquire_for(50ms));
  EXPECT_TRUE(a.hold().held());
  EXPECT_GT(a.hold().fencing_token(), 0);
  auto waiting = std::async(std::launch::async, [&] { b.acquire(); });
  wait_for_children(zk, path + "/leases", 4);
  a.release();
  waiting.get();
  a.release();
  b.release();
  b.release();
  wait_for_children(zk, path + "/leases", 0);
  wait_for_children(zk, path + "/locks", 0);
}

TEST_F(semaphore_test, a_thread_releases_its_own_permit) {
  semaphore s{zk, path, 3};
  s.acquire();
  const auto first = s.hold();
  std::jthread{[&] {
    s.acquire();
    const auto second = s.hold();
    EXPECT_NE(second.node(), first.node());
    s.release();
    EXPECT_FALSE(second.held());
  }}.join();
  EXPECT_TRUE(first.held());
  EXPECT_EQ(s.hold().node(), first.node());
  zk.close();
  EXPECT_TRUE(first.lost().stop_requested());
}

TEST_F(semaphore_test, is_never_held_by_too_many) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] {
      client mine{shared_server().connect_string()};
      semaphore s{mine, path, 2};
      for (int k = 0; k < 20; ++k) {
        s.acquire();
        const int now = ++inside;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        for (int n = 0; n < 8; ++n) mine.sync(path);  // long enough for another grant
        --inside;
        s.release();
      }
    });
  all.clear();
  EXPECT_EQ(most, 2);
  wait_for_children(zk, path + "/leases", 0);
}

TEST_F(semaphore_test, a_stop_request_and_destruction_leave_no_nodes) {
  semaphore a{zk, path, 1};
  a.acquire();
  std::stop_source stop;
  {
    semaphore b{other, path, 1};
    auto waiting = std::async(std::launch::async, [&] { return b.acquire(stop.get_token()); });
    wait_for_children(zk, path + "/leases", 2);
    stop.request_stop();
    EXPECT_FALSE(waiting.get());
  }
  wait_for_children(zk, path + "/leases", 1);
  wait_for_children(zk, path + "/locks", 0);
  {
    semaphore b{other, path, 1};
    auto waiting = b.async_acquire(boost::asio::use_future);
    wait_for_children(zk, path + "/leases", 2);
    a.release();
    waiting.get();
  }
  wait_for_children(zk, path + "/leases", 0);
}

TEST_F(semaphore_test, needs_permits_and_a_path) {
  EXPECT_THROW(semaphore(zk, path, 0), error);
  for (const auto* wrong : {"nonsense", "", "/", "/a/"})
    EXPECT_EQ(code_of([&] { semaphore(zk, wrong, 1); }), errc::invalid_path) << wrong;
}

}  // namespace
}  // namespace conclave::testing
