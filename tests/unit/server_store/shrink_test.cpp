// The space of removed rows is returned to the file system in steps, despite faults in between.

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "faulty_disk/faulty_disk.hpp"
#include "row_model.hpp"
#include "server/store/sqlite_store.hpp"
#include "server/store/store_error.hpp"
#include "sql.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

using act = faulty_disk::act;
using outcome = faulty_disk::outcome;
using server_impl::sqlite_store;

constexpr std::int64_t wal_bytes = 1 << 16;

server_impl::sqlite_store_options on(faulty_disk& disk) {
  return {.wal_bytes = wal_bytes, .shrink_pages = 4, .custom_disk = &disk};
}

// Creates many nodes, removes most of them, and makes a few changes while the store shrinks.
class burst {
 public:
  burst() {
    add(first_batch(1));
    owned_batch come;
    for (int i = 0; i < nodes; ++i) come.put(path(i), plain_node(2, std::string(3000, 'x')));
    add(std::move(come));
    owned_batch go;
    for (int i = 0; i < nodes; ++i)
      if (i % 10 != 0) go.changes.removed_nodes.push_back(path(i));
    add(std::move(go));
  }

  // Stops at the first error.
  void play(sqlite_store& store) {
    commit_all(store);
    bool is_more = true;
    for (int step = 0; is_more; ++step) {
      if (step == 2) add_change(), commit(store);
      is_more = store.shrink();
    }
    add_change();
    commit(store);
  }

  void commit_all(sqlite_store& store) {
    while (acknowledged < commits_.size()) commit(store);
  }

  // The differences from the expected content, or an empty string.
  std::string find_error(const server_impl::image& found) const {
    const auto what = difference(states_[acknowledged], found);
    const bool is_next = under_way_ && difference(states_[acknowledged + 1], found).empty();
    return is_next ? "" : what;
  }

  std::size_t acknowledged = 0;

 private:
  static constexpr int nodes = 40;
  static std::string path(int i) { return "/a/" + std::to_string(i); }

  void add(owned_batch next) {
    next.changes.zxid = static_cast<std::int64_t>(commits_.size()) + 1;
    commits_.push_back(std::move(next));
    states_.push_back(states_.back());
    states_.back().apply(commits_.back().changes);
  }
  void add_change() {
    owned_batch next;
    const auto zxid = static_cast<std::int64_t>(commits_.size()) + 1;
    next.put("/a/late", plain_node(zxid, std::string(5000, 'y')));
    add(std::move(next));
  }
  void commit(sqlite_store& store) {
    under_way_ = true;
    store.commit(commits_[acknowledged].changes);
    under_way_ = false;
    ++acknowledged;
  }

  std::deque<owned_batch> commits_;
  std::vector<row_model> states_{1};
  bool under_way_ = false;
};

TEST(shrink, files_are_as_small_as_their_content) {
  const temporary_directory folder;
  const auto file = folder.path() / "conclave.db";
  const auto log = folder.path() / "conclave.db-wal";
  {
    sqlite_store store{folder.path()};
    store.commit(first_batch(1).changes);
    owned_batch come;
    come.changes.zxid = 2;
    for (int i = 0; i < 3000; ++i)
      come.put("/a/" + std::to_string(i), plain_node(2, std::string(5000, 'x')));
    store.commit(come.changes);
    owned_batch go;
    go.changes.zxid = 3;
    for (int i = 0; i < 3000; ++i) go.changes.removed_nodes.push_back("/a/" + std::to_string(i));
    store.commit(go.changes);
    EXPECT_GT(std::filesystem::file_size(file), 10u << 20);
    EXPECT_GT(std::filesystem::file_size(log), 10u << 20);
    int steps = 1;
    for (; store.shrink(); ++steps) ASSERT_LT(steps, 100);
    EXPECT_GT(steps, 10);
    EXPECT_LE(std::filesystem::file_size(file), 2u << 20);
    EXPECT_EQ(std::filesystem::file_size(log), 2u << 20);
    EXPECT_FALSE(store.shrink());
    EXPECT_EQ(store.load().nodes.size(), 2u);
  }
  EXPECT_EQ(sql(file, "PRAGMA integrity_check"), "ok");
}

// Stores of early versions are like this.
TEST(shrink, a_file_that_cannot_shrink_is_not_changed) {
  const temporary_directory folder;
  const auto file = folder.path() / "conclave.db";
  burst changes;
  sqlite_store{folder.path()}.commit(first_batch(1).changes);
  sql(file, "PRAGMA auto_vacuum = NONE; VACUUM");
  ++changes.acknowledged;
  sqlite_store store{folder.path(), {.wal_bytes = wal_bytes, .shrink_pages = 4}};
  changes.play(store);
  EXPECT_EQ(changes.find_error(store.load()), "");
  EXPECT_GT(std::filesystem::file_size(file), 100'000u);
}

TEST(shrink, the_power_fails_at_every_step) {
  std::uint64_t before = 0;
  std::uint64_t steps = 0;
  {
    faulty_disk disk;
    burst changes;
    sqlite_store store{"/data", on(disk)};
    before = disk.steps();
    changes.play(store);
    steps = disk.steps();
    EXPECT_EQ(changes.find_error(store.load()), "");
    EXPECT_LT(*disk.size("/data/conclave.db"), 100'000u);
    EXPECT_EQ(*disk.size("/data/conclave.db-wal"), wal_bytes);
  }
  EXPECT_GT(steps, before + 200);
  for (auto last = before + 1; last <= steps; ++last) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      faulty_disk disk;
      burst changes;
      {
        sqlite_store store{"/data", on(disk)};
        disk.plan = [last](const faulty_disk::step& s) {
          return s.number >= last ? outcome::power_off : outcome::done;
        };
        try {
          changes.play(store);
        } catch (const server_impl::store_error&) {
        }
      }
      ASSERT_TRUE(disk.is_off());
      disk.plan = nullptr;
      disk.power_cycle(seed * 1'000'003 * (last + 1));
      try {
        sqlite_store store{"/data", on(disk)};
        ASSERT_EQ(changes.find_error(store.load()), "") << "step " << last << ", seed " << seed;
      } catch (const server_impl::store_error& error) {
        FAIL() << "step " << last << ", seed " << seed << ": " << error.what();
      }
    }
  }
}

// Nothing is acknowledged after an error: the server stops.
TEST(shrink, every_write_and_every_sync_fails) {
  for (const auto kind : {act::write, act::sync, act::truncate}) {
    int faults = 0;
    for (int n = 1;; ++n) {
      faulty_disk disk;
      burst changes;
      int seen = 0;
      {
        sqlite_store store{"/data", on(disk)};
        disk.plan = [&](const faulty_disk::step& s) {
          return s.what == kind && ++seen == n ? outcome::broken : outcome::done;
        };
        try {
          changes.play(store);
        } catch (const server_impl::disk_full&) {
          FAIL() << "an I/O error is not a full disk";
        } catch (const server_impl::store_error&) {
          EXPECT_THROW(store.shrink(), server_impl::store_error);
        }
      }
      if (seen < n) break;
      ++faults;
      disk.plan = nullptr;
      disk.power_cycle(static_cast<std::uint64_t>(n));
      sqlite_store store{"/data", on(disk)};
      ASSERT_EQ(changes.find_error(store.load()), "") << "failure " << n;
    }
    EXPECT_GT(faults, kind == act::truncate ? 1 : 20);
  }
}

TEST(shrink, a_full_disk_only_delays_it) {
  for (const auto full : {outcome::no_room, outcome::over_quota}) {
    faulty_disk disk;
    burst changes;
    sqlite_store store{"/data", on(disk)};
    changes.commit_all(store);
    disk.plan = [full](const faulty_disk::step& s) {
      return s.what == act::write ? full : outcome::done;
    };
    EXPECT_FALSE(store.shrink());
    EXPECT_EQ(changes.find_error(store.load()), "");
    EXPECT_GT(*disk.size("/data/conclave.db"), 100'000u);
    disk.plan = nullptr;
    changes.play(store);
    EXPECT_EQ(changes.find_error(store.load()), "");
    EXPECT_LT(*disk.size("/data/conclave.db"), 100'000u);
  }
}

// The write-ahead log is truncated and then filled with zeros again.
TEST(shrink, a_full_disk_does_not_end_it) {
  for (const auto full : {outcome::no_room, outcome::over_quota}) {
    for (std::uint64_t begin = 1;; ++begin) {
      faulty_disk disk;
      burst changes;
      sqlite_store store{"/data", on(disk)};
      changes.commit_all(store);
      disk.plan = [full, from = disk.steps() + begin](const faulty_disk::step& s) {
        return s.what == act::write && s.number >= from ? full : outcome::done;
      };
      const auto before = disk.steps();
      for (int steps = 0; store.shrink(); ++steps) ASSERT_LT(steps, 100);
      const bool complete = disk.steps() - before < begin;
      ASSERT_EQ(changes.find_error(store.load()), "") << "from step " << begin;
      if (complete) break;
    }
  }
}

}  // namespace
}  // namespace conclave::testing
