// Contenders of other libraries obtain a lock that Conclave keeps after unlock().
#include <atomic>
#include <fstream>
#include <thread>

#include "conclave/mutex.hpp"
#include "fixture.hpp"

namespace conclave::testing {
namespace {

class kept_lock : public with_a_peer {
 protected:
  lock_options keeping() const {
    lock_options o;
    o.layout = layout_of(GetParam());
    o.keep_for = 60s;
    return o;
  }
  contest peer(int cycles) const {
    contest c;
    c.path = path;
    c.layout_name = name_of(GetParam());
    c.cycles = cycles;
    c.counter = counter;
    return c;
  }
  void increment() const {
    long n = 0;
    std::ifstream{counter} >> n;
    std::ofstream{counter} << n + 1;
  }

  std::string path = fresh_node(zk, "kept");
  temporary_directory folder;
  std::filesystem::path counter = [&] {
    auto file = folder.path() / "counter";
    std::ofstream{file} << 0;
    return file;
  }();
};

INSTANTIATE_TEST_SUITE_P(peers, kept_lock,
                         ::testing::Values(library::curator, library::kazoo, library::zookeeper),
                         name_of_param);

// The lock is kept for a minute, so only a recall can let the other library have it in time.
TEST_P(kept_lock, goes_to_a_contender_of_another_library) {
  mutex m{zk, path, keeping()};
  for (std::int64_t last = 0;;) {
    const std::scoped_lock guard{m};
    if (std::exchange(last, m.fencing_token()) == last) break;
  }
  contender_process waiter{GetParam(), peer(1)};
  EXPECT_TRUE(waiter.acquired());
  waiter.finish();
}

TEST_P(kept_lock, excludes_contenders_of_another_library) {
  constexpr int cycles = 25;
  mutex m{zk, path, keeping()};
  contender_process theirs{GetParam(), peer(cycles)};
  ASSERT_TRUE(theirs.acquired());
  std::atomic<bool> stop{false};
  long ours = 0, local = 0;
  std::thread user{[&] {
    // Once the other process has ended, the lock is kept.
    for (std::int64_t last = 0; !stop || local == 0; ++ours) {
      const std::scoped_lock guard{m};
      local += std::exchange(last, m.fencing_token()) == last;
      increment();
    }
  }};
  theirs.finish();
  stop = true;
  user.join();
  long n = -1;
  std::ifstream{counter} >> n;
  EXPECT_EQ(n, ours + cycles);
  EXPECT_GT(local, 0);
}

}  // namespace
}  // namespace conclave::testing
