// Eight processes contend for one lock of an ensemble whose leader is killed again and again.
//
// CONCLAVE_FAULT_SECONDS says for how long; 15 unless set. A minute:
//   CONCLAVE_FAULT_SECONDS=60 build/dev/tests/locks/lock_ensemble_test
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "locks/contestants.hpp"
#include "support/zookeeper_ensemble.hpp"

namespace conclave::testing {
namespace {

std::chrono::seconds time_of_faults() {
  const auto* set = std::getenv("CONCLAVE_FAULT_SECONDS");
  return set != nullptr ? std::chrono::seconds{std::stoi(set)} : 15s;
}

TEST(lock_ensemble, exclusion_while_leaders_die) {
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
  std::vector<std::unique_ptr<contestant>> all;
  for (int i = 0; i < count; ++i)
    all.push_back(std::make_unique<contestant>(storage, "contend", servers.connect_string(), 4s,
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
    // Half of the time the death hits a holder, and the other two go on without the leader for a
    // while. Otherwise it hits whatever there is at that moment.
    const bool hits_holder = kills.size() % 2 == 0;
    const auto leader = servers.wait_for_quorum();
    forget_old_writes();
    if (hits_holder) storage.withhold_answers();
    std::optional<storage_write> written;
    do {
      written = storage.next();
      ASSERT_TRUE(written) << "nobody gets the lock";
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
  forget_old_writes();  // from here on everybody has to get it again
  for (int i = 0; i < count; ++i) EXPECT_TRUE(storage.next_of(i)) << i << " is stuck";

  std::vector<stay> stays;
  std::size_t suspended = 0;
  std::size_t lost = 0;
  for (auto& each : all) each->process().kill(SIGTERM);
  for (auto& each : all) {
    const auto ended = each->process().wait(patience);
    ASSERT_TRUE(ended) << "it hangs";
    EXPECT_EQ(ended->code, 0);
    const auto r = each->report();
    suspended += r.suspended;
    lost += r.lost;
    stays.insert(stays.end(), r.stays.begin(), r.stays.end());
  }
  expect_exclusion(stays);
  EXPECT_GT(suspended, 0u) << "no fault has hit a holder";
  client zk{servers.connect_string()};
  zk.sync(path);
  EXPECT_TRUE(zk.children(path).names.empty());
  std::cout << kills.size() << " leaders killed, " << stays.size() << " holds, " << suspended
            << " of them cut off, " << lost << " lost, " << storage.refused()
            << " stale writes refused\n";
}

}  // namespace
}  // namespace conclave::testing
