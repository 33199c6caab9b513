// Holders that are killed, stopped for longer than their session, cut off: processes of their own.
#include <csignal>
#include <random>

#include "locks/contestants.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

constexpr auto session = 1000ms;

class processes : public with_and_without_tickets {
 protected:
  std::unique_ptr<contestant> start(const std::string& role, int number,
                                    const std::string& address) {
    return std::make_unique<contestant>(storage, role, address, session, line.path(), GetParam(),
                                        number);
  }
  std::unique_ptr<contestant> start(const std::string& role, int number) {
    return start(role, number, shared_server().connect_string());
  }

  fenced_storage storage;
  onlooker line{"processes"};
};
INSTANTIATE_TEST_SUITE_P(with, processes, ::testing::Bool(), tickets_name);

TEST_P(processes, a_stopped_holder_finds_its_writes_refused_and_is_told) {
  auto first = start("hold", 1);
  const auto old = storage.next_of(1);
  ASSERT_TRUE(old);
  EXPECT_TRUE(old->accepted);
  auto second = start("hold", 2);
  ASSERT_TRUE(line.wait_for(2));
  first->process().pause();
  const auto newer = storage.next_of(2);
  ASSERT_TRUE(newer) << "the lock goes on to the next";
  EXPECT_TRUE(newer->accepted);
  EXPECT_GT(newer->token, old->token);
  EXPECT_EQ(storage.refused(), 0u);
  first->process().resume();
  const auto ended = first->process().wait(patience);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, 0) << "3: not told of the loss; 4: told, but held() says yes";
  EXPECT_GT(storage.refused(), 0u) << "its stale write was never tried";
  EXPECT_TRUE(second->process().running());
}

TEST_P(processes, the_next_one_gets_what_a_killed_holder_had) {
  auto first = start("hold", 1);
  ASSERT_TRUE(storage.next_of(1));
  auto second = start("hold", 2);
  ASSERT_TRUE(line.wait_for(2));
  first->process().kill(SIGKILL);
  ASSERT_TRUE(first->process().wait(patience));
  ASSERT_TRUE(storage.next_of(2));
  EXPECT_TRUE(line.wait_for(1));
}

// Kills, stops and cuts that hit whoever has the lock.
TEST_P(processes, exclusion_under_faults_that_hit_the_holder) {
  constexpr int count = 4;
  std::vector<std::unique_ptr<link_proxy>> proxies;
  std::vector<std::unique_ptr<contestant>> all;
  for (int i = 0; i < count; ++i) {
    proxies.push_back(std::make_unique<link_proxy>(shared_server().port()));
    all.push_back(start("contend", i, proxies.back()->connect_string()));
  }
  std::vector<stay> stays;
  std::size_t hits = 0;
  const auto collect = [&](contestant& c, moment killed_at) {
    const auto r = c.report(killed_at);
    hits += r.suspended + r.lost + r.open;
    stays.insert(stays.end(), r.stays.begin(), r.stays.end());
  };
  int next_number = count;
  std::map<int, std::size_t> where;
  for (int i = 0; i < count; ++i) where[i] = static_cast<std::size_t>(i);
  for (int round = 0; round < 6; ++round) {
    const auto written = storage.next();
    ASSERT_TRUE(written);
    const int holder = storage.last_writer();
    const auto slot = where.at(holder);
    if (round % 3 == 0) {
      all[slot]->process().pause();
      // Everybody else goes on, if it held the lock when its session is over.
      for (auto w = storage.next(); w && w->writer == holder;) w = storage.next();
      const auto until = now() + session + session / 2;
      while (now() < until && storage.next()) {
      }
      all[slot]->process().resume();
    } else if (round % 3 == 1) {
      proxies[slot]->cut();
      const auto until = now() + session + session / 2;
      while (now() < until && storage.next()) {
      }
      proxies[slot]->heal();
    } else {
      all[slot]->process().kill(SIGKILL);
      const auto killed_at = now();
      ASSERT_TRUE(all[slot]->process().wait(patience));
      collect(*all[slot], killed_at);
      where.erase(holder);
      where[next_number] = slot;
      all[slot] = start("contend", next_number++, proxies[slot]->connect_string());
    }
  }
  // Nobody is stuck.
  for (const auto& [number, slot] : where) EXPECT_TRUE(storage.next_of(number)) << number;
  for (auto& each : all) each->process().kill(SIGTERM);
  for (auto& each : all) {
    const auto ended = each->process().wait(patience);
    ASSERT_TRUE(ended) << "it hangs";
    EXPECT_EQ(ended->code, 0);
    collect(*each, moment::min());
  }
  EXPECT_TRUE(line.wait_for(0));
  EXPECT_GT(hits, 0u) << "no fault has hit a holder";
  EXPECT_GT(stays.size(), 50u);
  expect_exclusion(stays);
  RecordProperty("hits", static_cast<int>(hits));
  RecordProperty("stays", static_cast<int>(stays.size()));
}

}  // namespace
}  // namespace conclave::testing
