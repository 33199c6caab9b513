// Processes of different libraries contend for one lock.
#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fixture.hpp"

namespace conclave::testing {
namespace {

constexpr int cycles = 25;

class shared_lock : public with_a_peer {
 protected:
  // A node that the test creates is first until all contenders have entered the wait queue.
  // Otherwise processes that start quickly would finish before the others start.
  void close_gate(std::string lock_path, layout::role role) {
    line = std::move(lock_path);
    create_options options;
    options.mode = create_mode::ephemeral_sequential;
    gate = zk.create(line + '/' + layout_of(GetParam()).name_prefix(role), "", options).path;
  }

  void start(library l, const std::string& kinds) {
    contest c;
    c.path = path;
    c.layout_name = name_of(GetParam());
    c.kinds = kinds;
    c.cycles = cycles;
    c.hold = "3";
    c.counter = counter;
    processes.push_back(std::make_unique<contender_process>(l, c));
    contenders += static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), ',')) + 1;
  }

  // Runs the contenders and returns their merged history.
  held_history run() {
    wait_for_contenders(line, contenders + 1);
    zk.remove(gate);
    held_history all;
    for (const auto& p : processes)
      for (auto& i : p->finish()) all.push_back(std::move(i));
    EXPECT_EQ(all.size(), contenders * cycles);
    sort_by_acquisition(all);
    EXPECT_EQ(forbidden_overlaps(all), std::vector<std::string>{});
    EXPECT_EQ(tokens_out_of_order(all), std::vector<std::string>{});
    EXPECT_EQ(count(), std::count_if(all.begin(), all.end(), [](const held_interval& i) {
                return i.mode == hold_mode::exclusive;
              }));
    const auto n = count_hand_offs(all);
    RecordProperty("hand_offs_from_us", n.from_us);
    RecordProperty("hand_offs_to_us", n.to_us);
    EXPECT_GT(n.from_us, 0);
    EXPECT_GT(n.to_us, 0);
    EXPECT_TRUE(zk.children(line).names.empty());
    return all;
  }

  long count() const {
    long n = -1;
    std::ifstream{counter} >> n;
    return n;
  }

  std::string path = fresh_node(zk, "shared");
  temporary_directory folder;
  std::filesystem::path counter = [&] {
    auto file = folder.path() / "counter";
    std::ofstream{file} << 0;
    return file;
  }();
  std::string line;
  std::string gate;
  std::size_t contenders{0};
  std::vector<std::unique_ptr<contender_process>> processes;
};

using mutex_shared_with = shared_lock;
INSTANTIATE_TEST_SUITE_P(peers, mutex_shared_with,
                         ::testing::Values(library::curator, library::zookeeper, library::kazoo),
                         name_of_param);

TEST_P(mutex_shared_with, has_one_holder_at_a_time) {
  close_gate(path, layout::role::exclusive);
  start(GetParam(), "mutex,mutex");
  start(library::conclave, "mutex");
  start(library::conclave, "mutex");
  run();
}

using shared_mutex_shared_with = shared_lock;
INSTANTIATE_TEST_SUITE_P(peers, shared_mutex_shared_with,
                         ::testing::Values(library::curator, library::kazoo), name_of_param);

TEST_P(shared_mutex_shared_with, has_one_writer_or_some_readers) {
  // ReadLock of kazoo 2.8.0 also waits for writers behind it, which wait for it (kazoo#649), so it
  // cannot take part. kazoo_readers_test.cpp tests it.
  const bool readers = GetParam() != library::kazoo;
  close_gate(path, layout::role::writer);
  start(GetParam(), readers ? "write,read,read" : "write,write");
  start(library::conclave, "write,read");
  start(library::conclave, "read");
  const auto all = run();
  const auto together = overlaps_between_libraries(all);
  RecordProperty("overlaps_between_libraries", together);
  EXPECT_GT(most_at_a_time(all), 1);
  EXPECT_EQ(together > 0, readers);
}

using semaphore_shared_with = shared_lock;
INSTANTIATE_TEST_SUITE_P(peers, semaphore_shared_with, ::testing::Values(library::curator),
                         name_of_param);

TEST_P(semaphore_shared_with, has_a_maximum_number_of_holders) {
  close_gate(zk.create(path + "/locks").path, layout::role::exclusive);
  start(GetParam(), "semaphore:2,semaphore:2,semaphore:2");
  start(library::conclave, "semaphore:2,semaphore:2");
  start(library::conclave, "semaphore:2");
  const auto all = run();
  EXPECT_EQ(most_at_a_time(all), 2);
  const auto together = overlaps_between_libraries(all);
  RecordProperty("overlaps_between_libraries", together);
  EXPECT_GT(together, 0);
  EXPECT_TRUE(zk.children(path + "/leases").names.empty());
}

}  // namespace
}  // namespace conclave::testing
