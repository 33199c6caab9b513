// Eight processes contend for one lock of an ensemble whose leader is killed repeatedly.
//
// CONCLAVE_FAULT_SECONDS is the duration, 15 by default. For a minute:
//   CONCLAVE_FAULT_SECONDS=60 build/dev/tests/locks/lock_ensemble_test
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "locks/lock_user_process.hpp"
#include "support/zookeeper_ensemble.hpp"

namespace conclave::testing {
namespace {

std::chrono::seconds time_of_faults() {
  const auto* set = std::getenv("CONCLAVE_FAULT_SECONDS");
  return set != nullptr ? std::chrono::seconds{std::stoi(set)} : 15s;
}

TEST(lock_ensemble, exclusion_while_leaders_are_killed) {
  zookeeper_options options;
  options.tick_ms = 500;
  zookeeper_ensemble servers{options};
  fenced_storage storage;
  std::string path;
  {
    client zk{servers.connect_string()};
    path = fresh_node(zk, "lock");
  }
  constexpr int count = 8;
  std::vector<std::unique_ptr<lock_user>> all;
  for (int i = 0; i < count; ++i)
    all.push_back(std::make_unique<lock_user>(storage, "contend", servers.connect_string(), 4s,
                                              path, i % 4 != 3, i));
  for (int i = 0; i < count; ++i) ASSERT_TRUE(storage.next_of(i));

  const auto forget_old_writes = [&] {
    while (storage.pending() > 0) storage.next();
  };
  const auto holder_was_hit = [&] {
    return std::any_of(all.begin(), all.end(),
                       [](const auto& each) { return each->report().suspended > 0; });
  };
  std::vector<moment> kills;
  const auto end = now() + time_of_faults();
  while (now() < end || kills.size() < 2 || (!holder_was_hit() && kills.size() < 20)) {
    // Half of the kills happen during a hold, and the other two servers run without a leader for
    // some time. The other kills happen at any time.
    const bool hits_holder = kills.size() % 2 == 0;
    const auto leader = servers.wait_for_quorum();
    forget_old_writes();
    if (hits_holder) storage.withhold_answers();
    std::optional<storage_write> written;
    do {
      written = storage.next();
      ASSERT_TRUE(written) << "the lock was not granted";
    } while (hits_holder && (written->answered || !written->accepted));
    servers.kill(leader);
    kills.push_back(now());
    if (hits_holder) {
      servers.wait_for_quorum();
      storage.answer_again();
    }
    servers.start_again(leader);
  }
  servers.wait_for_quorum();
  forget_old_writes();  // from here on every process must acquire the lock again
  for (int i = 0; i < count; ++i) EXPECT_TRUE(storage.next_of(i)) << i << " is stuck";

  std::vector<hold_interval> holds;
  std::size_t suspended = 0;
  std::size_t lost = 0;
  for (auto& each : all) each->process().kill(SIGTERM);
  for (auto& each : all) {
    const auto ended = each->process().wait(wait_limit);
    ASSERT_TRUE(ended) << "the process hangs";
    EXPECT_EQ(ended->code, 0);
    const auto r = each->report();
    suspended += r.suspended;
    lost += r.lost;
    holds.insert(holds.end(), r.holds.begin(), r.holds.end());
  }
  expect_exclusion(holds);
  EXPECT_GT(suspended, 0u) << "no fault has hit a holder";
  client zk{servers.connect_string()};
  zk.sync(path);
  EXPECT_TRUE(zk.children(path).names.empty());
  std::cout << kills.size() << " leaders killed, " << holds.size() << " holds, " << suspended
            << " of them suspended, " << lost << " lost, " << storage.refused()
            << " stale writes refused\n";
}

}  // namespace
}  // namespace conclave::testing
