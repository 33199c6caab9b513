// Loss of power at every step of a history, and repeatedly at random steps.

#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "faulty_disk/faulty_disk.hpp"
#include "history.hpp"

namespace conclave::testing {
namespace {

using outcome = faulty_disk::outcome;

auto power_off_at(std::uint64_t last) {
  return [last](const faulty_disk::step& s) {
    return s.number == last ? outcome::power_off : outcome::done;
  };
}

struct tally {
  int crashes = 0;
  int losses = 0;
  int kept_unacknowledged = 0;
  std::string first_loss;
};

// Seed 0 loses all unsynced data. Other seeds keep parts of it.
tally crash_everywhere(const history& played, int seeds, void (*prepare)(faulty_disk&)) {
  std::uint64_t steps = 0;
  {
    faulty_disk disk;
    EXPECT_EQ(played.play(disk).stopped_by, "");
    steps = disk.steps();
  }
  tally out;
  for (std::uint64_t last = 1; last <= steps; ++last) {
    for (int seed = 0; seed < seeds; ++seed) {
      faulty_disk disk;
      prepare(disk);
      disk.plan = power_off_at(last);
      auto done = played.play(disk);
      EXPECT_TRUE(disk.is_off());
      disk.plan = nullptr;
      disk.power_cycle(static_cast<std::uint64_t>(seed) * 1'000'003 * (last + 1));
      const auto before = done.acknowledged;
      auto what = played.find_error(disk, done);
      ++out.crashes;
      out.kept_unacknowledged += done.acknowledged > before ? 1 : 0;
      if (what.empty()) {  // continue with the recovered store
        played.play_run(disk, done, 2);
        what = done.stopped_by.empty() ? played.find_error(disk, done) : done.stopped_by;
      }
      if (what.empty()) continue;
      ++out.losses;
      if (out.first_loss.empty()) {
        out.first_loss = "step " + std::to_string(last) + " of " + std::to_string(steps) +
                         ", seed " + std::to_string(seed) + ", " +
                         std::to_string(done.acknowledged) + " acknowledged: " + what;
      }
    }
  }
  return out;
}

constexpr auto nothing_special = [](faulty_disk&) {};

TEST(crash, at_every_step) {
  const history played{11, 14};
  const auto found = crash_everywhere(played, 4, nothing_special);
  EXPECT_EQ(found.losses, 0) << found.first_loss;
  EXPECT_GT(found.crashes, 600);
  EXPECT_GT(found.kept_unacknowledged, 5) << "some unsynced data must survive in some runs";
}

// Shows that the test can fail: a disk that does not sync loses data, and the test detects it.
TEST(crash, a_disk_that_only_pretends_to_sync_is_noticed) {
  const history played{11, 6};
  const auto files = crash_everywhere(played, 2, [](faulty_disk& d) { d.ignores_syncs = true; });
  EXPECT_GT(files.losses, files.crashes / 4);
  const auto names =
      crash_everywhere(played, 2, [](faulty_disk& d) { d.ignores_folder_syncs = true; });
  EXPECT_GT(names.losses, 10);
}

// The same with a store that does not call sync.
TEST(crash, a_store_that_does_not_sync_is_noticed) {
  const history played{11, 6};
  for (std::size_t commits = 1; commits < played.size(); ++commits) {
    faulty_disk disk;
    history::progress done;
    played.play_run(disk, done, 1);
    {
      auto options = history::on(disk);
      options.sync_commits = false;
      server_impl::sqlite_store store{"/data", options};
      for (std::size_t i = 0; i < commits; ++i) store.commit(played.commit(done.acknowledged++));
      disk.plan = power_off_at(disk.steps() + 1);  // so that it cannot close
    }
    disk.plan = nullptr;
    disk.power_cycle(0);
    EXPECT_NE(played.find_error(disk, done), "") << commits;
  }
}

// Many losses of power, some of them while the store recovers from the last one.
TEST(crash, repeatedly) {
  int crashes = 0;
  int while_opening = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const history played{seed, 60};
    faulty_disk disk{seed};
    std::mt19937_64 random{seed};
    history::progress done;
    while (done.acknowledged < played.size()) {
      disk.plan = power_off_at(disk.steps() + 1 + random() % 60);
      const auto before = done.acknowledged;
      played.play_run(disk, done, 1 + random() % 20);
      if (disk.is_off()) {
        ++crashes;
        while_opening += !done.under_way && done.acknowledged == before ? 1 : 0;
      }
      disk.plan = nullptr;
      disk.power_cycle(random() % 4 == 0 ? 0 : random());
      const auto what = played.find_error(disk, done);
      ASSERT_EQ(what, "") << "seed " << seed << ", " << done.acknowledged << " acknowledged";
    }
  }
  EXPECT_GT(crashes, 150);
  EXPECT_GT(while_opening, 20);
}

}  // namespace
}  // namespace conclave::testing
