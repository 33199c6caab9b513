// A backup of the running store.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "faulty_disk/faulty_disk.hpp"
#include "row_model.hpp"
#include "server/store/disk.hpp"
#include "server/store/sqlite_store.hpp"
#include "server/store/store_error.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::server_impl {
namespace {

namespace fs = std::filesystem;
using testing::faulty_disk;
using testing::row_model;

TEST(backup, can_be_used_in_another_folder) {
  const testing::temporary_directory scratch;
  const auto other = scratch.path() / "other";
  fs::create_directory(other);
  row_model model;
  std::mt19937_64 random{3};
  sqlite_store store{scratch.path() / "data"};
  for (int i = 0; i < 50; ++i) {
    const auto made = random_batch(model, random);
    store.commit(made.changes);
    model.apply(made.changes);
  }
  store.backup(other / "conclave.db");
  const auto made = random_batch(model, random);
  store.commit(made.changes);  // the store can still be used

  struct stat found {};
  ASSERT_EQ(::stat((other / "conclave.db").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator{other}, {}), 1) << "no other files";
  EXPECT_EQ(difference(restored(model), sqlite_store{other}.load()), "");
  model.apply(made.changes);
  EXPECT_EQ(difference(model, store.load()), "");
}

// --- the first start of a copy

// A few nodes, ephemeral ones at two levels, and two sessions.
testing::owned_batch with_sessions() {
  auto made = testing::first_batch(5);
  auto row = testing::plain_node(6);
  made.put("/a", row);
  row.kind = node_kind::ephemeral;
  row.owner = 77;
  made.put("/e", row);
  made.put("/a/e", row);
  row.owner = 78;
  made.put("/a/f", row);
  made.changes.parents.push_back({"/", {3, 6}});
  made.changes.parents.push_back({"/a", {9, 6}});
  made.changes.sessions = {{77, 4000, {}}, {78, 4000, {}}};
  made.changes.zxid = 6;
  return made;
}

row_model model_with_sessions() {
  row_model model;
  model.apply(with_sessions().changes);
  return model;
}

class first_start_of_a_copy : public ::testing::Test {
 protected:
  first_start_of_a_copy() {
    fs::create_directory(other);
    store.emplace(data);
    store->commit(with_sessions().changes);
  }
  // Like an operator who copies the file of a stopped server.
  void copy_the_file() {
    store.reset();
    fs::copy(data / "conclave.db", other / "conclave.db");
  }
  void expect_a_restored_copy() {
    sqlite_store copy{other};
    EXPECT_EQ(copy.dropped().sessions, 2);
    EXPECT_EQ(copy.dropped().ephemeral_nodes, 3);
    EXPECT_EQ(difference(restored(model_with_sessions()), copy.load()), "");
  }

  const testing::temporary_directory scratch;
  const fs::path data = scratch.path() / "data";
  const fs::path other = scratch.path() / "other";
  std::optional<sqlite_store> store;
};

TEST_F(first_start_of_a_copy, drops_the_sessions_of_a_backup) {
  store->backup(other / "conclave.db");
  expect_a_restored_copy();
}

TEST_F(first_start_of_a_copy, drops_the_sessions_of_a_copied_file) {
  copy_the_file();
  if (!local_disk().birth_time(other / "conclave.db"))
    GTEST_SKIP() << "this file system has no creation times";
  expect_a_restored_copy();
}

// `cp` into an existing file: the file keeps its creation time.
TEST_F(first_start_of_a_copy, drops_the_sessions_of_a_file_that_was_put_back_in_place) {
  const auto overwrite = fs::copy_options::overwrite_existing;
  store.reset();
  fs::copy(data / "conclave.db", other / "earlier");
  {
    sqlite_store later{data};
    EXPECT_EQ(later.dropped().sessions, 0);
    batch changes;
    changes.zxid = 7;
    changes.removed_nodes = {"/a/e"};
    changes.parents.push_back({"/a", {9, 7}});
    later.commit(changes);
  }
  fs::copy_file(other / "earlier", data / "conclave.db", overwrite);
  {
    sqlite_store copy{data};
    EXPECT_EQ(copy.dropped().sessions, 2);
    EXPECT_EQ(copy.dropped().ephemeral_nodes, 3);
    EXPECT_EQ(difference(restored(model_with_sessions()), copy.load()), "");
  }
  EXPECT_EQ(sqlite_store{data}.dropped().sessions, 0);
}

// The lock file alone does not prove that the store is a copy.
TEST_F(first_start_of_a_copy, a_removed_lock_file_does_not_make_a_copy) {
  store.reset();
  fs::remove(data / "lock");
  EXPECT_EQ(sqlite_store{data}.dropped().sessions, 0);
  store.emplace(data);
  EXPECT_EQ(store->dropped().sessions, 0);
  EXPECT_EQ(difference(model_with_sessions(), store->load()), "");
}

TEST_F(first_start_of_a_copy, later_starts_drop_nothing) {
  store->backup(other / "conclave.db");
  expect_a_restored_copy();
  session_row session{99, 4000, {}};
  {
    sqlite_store copy{other};
    EXPECT_EQ(copy.dropped().sessions, 0);
    batch changes;
    changes.zxid = copy.load().zxid + 1;
    changes.sessions.push_back(session);
    copy.commit(changes);
  }
  sqlite_store copy{other};
  EXPECT_EQ(copy.dropped().sessions, 0);
  ASSERT_EQ(copy.load().sessions.size(), 1u);
  EXPECT_EQ(copy.load().sessions[0].id, session.id);
}

TEST_F(first_start_of_a_copy, a_moved_or_unclosed_folder_is_not_a_copy) {
  store->backup(scratch.path() / "a backup does not change the original");
  store.reset();
  fs::remove(other);
  fs::rename(data, other);
  sqlite_store moved{other};
  EXPECT_EQ(moved.dropped().sessions, 0);
  EXPECT_EQ(difference(model_with_sessions(), moved.load()), "");
}

// A stopped store on a faulty disk. Its lock file and its file contain the same run.
class interrupted_start : public ::testing::Test {
 protected:
  static sqlite_store_options on(faulty_disk& disk) {
    return {.wal_bytes = 1 << 16, .custom_disk = &disk};
  }
  static void make_store(faulty_disk& disk) {
    sqlite_store{"/data", on(disk)}.commit(with_sessions().changes);
  }
  // Starts the store and turns the power off at the n-th step. Returns false if there were fewer
  // steps.
  static bool start_until(faulty_disk& disk, std::uint64_t n, std::uint64_t seed) {
    disk.plan = [at = disk.steps() + n](const faulty_disk::step& s) {
      return s.number == at ? faulty_disk::outcome::power_off : faulty_disk::outcome::done;
    };
    try {
      sqlite_store{"/data", on(disk)};
    } catch (const store_error&) {
      EXPECT_TRUE(disk.is_off());
    }
    const bool was_off = disk.is_off();
    disk.plan = nullptr;
    disk.power_cycle(seed);
    return was_off;
  }
};

TEST_F(interrupted_start, does_not_make_a_copy) {
  std::mt19937_64 random{5};
  std::uint64_t n = 1;
  for (bool was_off = true; was_off; ++n) {
    was_off = false;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      faulty_disk disk;
      make_store(disk);
      was_off = start_until(disk, n, seed * n) || was_off;
      if (seed % 2 == 1) start_until(disk, 1 + random() % 20, random());  // and once more
      sqlite_store store{"/data", on(disk)};
      ASSERT_EQ(store.dropped().sessions, 0) << "step " << n << ", seed " << seed;
      ASSERT_EQ(difference(model_with_sessions(), store.load()), "") << n << ' ' << seed;
    }
  }
  EXPECT_GT(n, 12U);
}

TEST_F(interrupted_start, does_not_hide_a_file_that_was_put_back) {
  std::uint64_t n = 1;
  for (bool was_off = true; was_off; ++n) {
    was_off = false;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      faulty_disk disk;
      make_store(disk);
      const auto earlier = disk.content("/data/conclave.db");
      sqlite_store{"/data", on(disk)};
      disk.overwrite("/data/conclave.db", earlier);
      was_off = start_until(disk, n, seed * n) || was_off;
      sqlite_store store{"/data", on(disk)};
      ASSERT_EQ(difference(restored(model_with_sessions()), store.load()), "") << n << ' ' << seed;
    }
  }
  EXPECT_GT(n, 12U);
}

// Without space, the store continues with its previous run.
TEST_F(interrupted_start, on_a_full_disk_does_not_make_a_copy) {
  for (const auto what : {faulty_disk::act::write, faulty_disk::act::sync}) {
    for (std::uint64_t n = 1; n < 20; ++n) {
      faulty_disk disk;
      make_store(disk);
      disk.plan = [&, at = disk.steps() + n](const faulty_disk::step& s) {
        return s.number >= at && s.what == what ? faulty_disk::outcome::no_room
                                                : faulty_disk::outcome::done;
      };
      try {
        sqlite_store{"/data", on(disk)};
      } catch (const store_error&) {  // SQLite cannot always close its files
      }
      disk.plan = nullptr;
      sqlite_store store{"/data", on(disk)};
      ASSERT_EQ(difference(model_with_sessions(), store.load()), "") << n;
    }
  }
}

// The sessions are removed completely or not at all.
TEST(first_start_of_a_copy_faulty, survives_a_loss_of_power_at_every_step) {
  const sqlite_store_options options{.wal_bytes = 1 << 16};
  for (std::uint64_t n = 1, end = 2; n < end; ++n) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      faulty_disk disk;
      auto on_it = options;
      on_it.custom_disk = &disk;
      {
        sqlite_store store{"/data", on_it};
        store.commit(with_sessions().changes);
        store.backup("/other/conclave.db");
      }
      const auto before = disk.steps();
      disk.plan = [at = before + n](const faulty_disk::step& s) {
        return s.number == at ? faulty_disk::outcome::power_off : faulty_disk::outcome::done;
      };
      try {
        sqlite_store copy{"/other", on_it};
      } catch (const store_error&) {
      }
      if (disk.is_off()) end = n + 2;  // there may be one more step
      disk.plan = nullptr;
      disk.power_cycle(seed * n);
      sqlite_store copy{"/other", on_it};
      EXPECT_EQ(difference(restored(model_with_sessions()), copy.load()), "") << n << ' ' << seed;
    }
  }
}

TEST(backup, does_not_overwrite_an_existing_file) {
  const testing::temporary_directory scratch;
  const auto target = scratch.path() / "kept";
  std::ofstream{target} << "precious";
  sqlite_store store{scratch.path() / "data"};
  try {
    store.backup(target);
    FAIL() << "the file was overwritten";
  } catch (const store_error& error) {
    EXPECT_EQ(error.what(),
              target.native() + " exists already; choose another name for the backup");
  }
  EXPECT_EQ(fs::file_size(target), 8U);
  EXPECT_THROW(store.backup(scratch.path() / "no" / "such" / "folder"), store_error);
}

// A store with one commit on a faulty disk. The fault is placed at a step of the backup.
struct faulty_backup {
  faulty_backup() { store->commit(first.changes); }

  std::uint64_t steps_of_a_good_one() {
    const auto before = disk.steps();
    store->backup("/other/conclave.db");
    return disk.steps() - before;
  }
  void fault(std::uint64_t step, faulty_disk::outcome kind) {
    disk.plan = [at = disk.steps() + step, kind](const faulty_disk::step& s) {
      return s.number == at ? kind : faulty_disk::outcome::done;
    };
  }

  faulty_disk disk;
  testing::owned_batch first = testing::first_batch(5);
  std::optional<sqlite_store> store{
      std::in_place, "/data", sqlite_store_options{.wal_bytes = 1 << 16, .custom_disk = &disk}};
};

row_model expected() {
  row_model model;
  model.apply(testing::first_batch(5).changes);
  return model;
}

// After any failure there is no file, and the store can still be used.
TEST(backup, leaves_no_file_after_a_failure) {
  const auto steps = faulty_backup{}.steps_of_a_good_one();
  EXPECT_GT(steps, 10U);
  for (const auto kind : {faulty_disk::outcome::no_room, faulty_disk::outcome::broken}) {
    for (std::uint64_t n = 1; n <= steps; ++n) {
      faulty_backup tried;
      tried.fault(n, kind);
      try {
        tried.store->backup("/other/conclave.db");
        ADD_FAILURE() << "step " << n << " failed without an error";
      } catch (const store_error&) {
      }
      tried.disk.plan = nullptr;
      EXPECT_TRUE(tried.disk.list("/other").empty()) << "step " << n;
      EXPECT_NO_THROW(tried.store->commit(tried.first.changes));
      EXPECT_NO_THROW(tried.store->backup("/other/conclave.db"));
    }
  }
}

TEST(backup, reports_a_full_disk) {
  faulty_backup tried;
  tried.disk.capacity = tried.disk.used() + 10'000;
  EXPECT_THROW(tried.store->backup("/backup"), disk_full);
}

// The file is complete after backup() has returned. After an interruption it is absent or complete.
TEST(backup, survives_a_loss_of_power) {
  const auto steps = faulty_backup{}.steps_of_a_good_one();
  int present = 0;
  for (std::uint64_t n = 1; n <= steps + 1; ++n) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      faulty_backup tried;
      tried.fault(n, faulty_disk::outcome::power_off);
      bool returned = true;
      try {
        tried.store->backup("/other/conclave.db");
      } catch (const store_error&) {
        returned = false;
      }
      EXPECT_EQ(returned, n > steps);
      tried.store.reset();
      tried.disk.plan = nullptr;
      tried.disk.power_cycle(seed * n);
      if (!tried.disk.size("/other/conclave.db")) {
        EXPECT_FALSE(returned);
        continue;
      }
      ++present;
      sqlite_store other{"/other", {.wal_bytes = 1 << 16, .custom_disk = &tried.disk}};
      EXPECT_EQ(difference(expected(), other.load()), "") << "step " << n << ", seed " << seed;
    }
  }
  EXPECT_GT(present, 5);
}

}  // namespace
}  // namespace conclave::server_impl
