// Locks on Apache's server when the counter of the parent reaches its end. The server then repeats
// the number 2147483647.
#include <mutex>
#include <thread>
#include <vector>

#include "conclave/mutex.hpp"
#include "conclave/shared_mutex.hpp"
#include "integration/harness.hpp"
#include "support/child_process.hpp"

namespace conclave::testing {
namespace {

class counter_end : public ::testing::Test {
 protected:
  void SetUp() override {
    client{server.connect_string()}.create(path);
    server.stop_gracefully();
    child_process java{
        child_options{{JAVA, "-cp", CLASS_PATH, "conclave.interop.locks.SetCounter",
                       server.data_directory().string(), path, std::to_string(2147483647 - 6)}}};
    const auto ended = java.wait(60s);
    ASSERT_TRUE(ended);
    ASSERT_EQ(ended->code, 0);
    server.start_again();
  }

  zookeeper_server server;
  const std::string path = "/edge";
};

TEST_F(counter_end, mutexes_work_after_it) {
  client zk{server.connect_string()};
  {
    mutex m{zk, path};
    ASSERT_TRUE(m.try_lock_for(wait_limit));
    EXPECT_EQ(m.hold().node(), path + "/lock-2147483641") << "the counter was not set";
    m.unlock();
  }
  int counter = 0;
  std::int64_t highest = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i < 3; ++i)
    all.emplace_back([&] {
      client mine{server.connect_string()};
      mutex m{mine, path};
      for (int k = 0; k < 15; ++k) {
        ASSERT_TRUE(m.try_lock_for(wait_limit)) << "stuck";
        ++counter;
        EXPECT_GT(m.fencing_token(), highest);
        highest = m.fencing_token();
        m.unlock();
      }
    });
  all.clear();
  EXPECT_EQ(counter, 45);
}

TEST_F(counter_end, readers_and_writers_work_after_it) {
  int left = 0;
  int right = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&, i] {
      client mine{server.connect_string()};
      shared_mutex m{mine, path};
      for (int k = 0; k < 8; ++k) {
        if (i % 2 == 0) {
          ASSERT_TRUE(m.try_lock_for(wait_limit)) << "a writer is stuck";
          ++left;
          ++right;
          m.unlock();
        } else {
          ASSERT_TRUE(m.try_lock_shared_for(wait_limit)) << "a reader is stuck";
          EXPECT_EQ(left, right);
          m.unlock_shared();
        }
      }
    });
  all.clear();
  EXPECT_EQ(left, 16);
}

}  // namespace
}  // namespace conclave::testing
