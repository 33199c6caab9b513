// Older formats are upgraded in one transaction, after a copy was made.

#include <array>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "faulty_disk/faulty_disk.hpp"
#include "row_model.hpp"
#include "server/store/schema.hpp"
#include "server/store/sqlite_store.hpp"
#include "server/store/store_error.hpp"
#include "sql.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::server_impl {
namespace {

namespace fs = std::filesystem;
using testing::sql;

// An invented format 0 without a column for the time to live and with other names for the kinds.
constexpr upgrade_step from_zero{
    0,
    "ALTER TABLE nodes RENAME TO old;"
    "CREATE TABLE nodes (path TEXT PRIMARY KEY, kind TEXT NOT NULL, owner INTEGER NOT NULL,"
    " ttl_ms INTEGER NOT NULL, czxid INTEGER NOT NULL, mzxid INTEGER NOT NULL,"
    " ctime_ms INTEGER NOT NULL, mtime_ms INTEGER NOT NULL, version INTEGER NOT NULL,"
    " aversion INTEGER NOT NULL, acl TEXT NOT NULL, data BLOB) STRICT, WITHOUT ROWID;"
    "INSERT INTO nodes SELECT path, 'persistent', owner, 0, czxid, mzxid, ctime_ms, mtime_ms,"
    " version, aversion, acl, data FROM old;"
    "DROP TABLE old;"};
constexpr const char* back_to_zero =
    "UPDATE nodes SET kind = 'lasting'; ALTER TABLE nodes DROP COLUMN ttl_ms;"
    "UPDATE meta SET value = 0 WHERE key = 'format'; PRAGMA user_version = 0";

class upgrade : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto made = testing::first_batch(5);
    sqlite_store{folder}.commit(made.changes);
    model.apply(made.changes);
    sql(file, back_to_zero);
  }
  std::string reason(std::span<const upgrade_step> steps) {
    try {
      sqlite_store{folder, {.upgrades = steps}};
    } catch (const store_error& error) {
      return error.what();
    }
    return "it was not refused";
  }

  testing::temporary_directory scratch;
  fs::path folder = scratch.path() / "data";
  fs::path file = folder / "conclave.db";
  fs::path copy = folder / "conclave.db.v0.bak";
  testing::row_model model;
};

TEST_F(upgrade, an_older_format) {
  const std::array steps{from_zero};
  EXPECT_EQ(difference(model, sqlite_store{folder, {.upgrades = steps}}.load()), "");
  EXPECT_EQ(difference(model, sqlite_store{folder}.load()), "") << "and it stays";
  EXPECT_EQ(sql(file, "PRAGMA user_version"), "1");
  EXPECT_EQ(sql(file, "SELECT value FROM meta WHERE key = 'upgraded_by'"), "conclave 0.1.0");

  EXPECT_EQ(sql(copy, "PRAGMA user_version"), "0");
  EXPECT_EQ(sql(copy, "SELECT kind FROM nodes WHERE path = '/a'"), "lasting");
  EXPECT_EQ(fs::status(copy).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(upgrade, the_copy_can_be_restored) {
  const std::array steps{from_zero};
  EXPECT_EQ(difference(model, sqlite_store{folder, {.upgrades = steps}}.load()), "");
  fs::rename(copy, file);
  EXPECT_EQ(difference(model, sqlite_store{folder, {.upgrades = steps}}.load()), "");
}

TEST_F(upgrade, a_step_that_fails_changes_nothing) {
  const std::array steps{upgrade_step{0, "DELETE FROM nodes; SELECT * FROM nowhere"}};
  EXPECT_EQ(reason(steps), "cannot upgrade " + file.native() +
                               " from format 0 to 1 (no such table: nowhere); the file is "
                               "unchanged, and a copy is in " +
                               copy.native());
  EXPECT_EQ(sql(file, "SELECT kind FROM nodes WHERE path = '/a'"), "lasting");
  EXPECT_EQ(sql(file, "PRAGMA user_version"), "0");

  const std::array better{from_zero};  // the existing copy does not prevent the upgrade
  EXPECT_EQ(difference(model, sqlite_store{folder, {.upgrades = better}}.load()), "");
}

TEST_F(upgrade, a_format_without_a_step) {
  EXPECT_NE(reason({}).find("(there is no upgrade from format 0 to 1)"), std::string::npos);
}

// After a loss of power at any step, the next start repeats the upgrade or finds it complete.
TEST_F(upgrade, survives_a_loss_of_power) {
  using testing::faulty_disk;
  const std::array steps{from_zero};
  const auto tried = [&](std::uint64_t last, std::uint64_t seed) {
    faulty_disk disk;
    const sqlite_store_options options{
        .wal_bytes = 1 << 16, .custom_disk = &disk, .upgrades = steps};
    {
      const auto made = testing::first_batch(5);
      sqlite_store{"/data", options}.commit(made.changes);
    }
    sql(testing::open_sql("/data/conclave.db", disk.vfs()).get(), back_to_zero);
    disk.plan = [at = disk.steps() + last](const faulty_disk::step& s) {
      return s.number == at ? faulty_disk::outcome::power_off : faulty_disk::outcome::done;
    };
    try {
      sqlite_store{"/data", options}.load();
    } catch (const store_error&) {
      EXPECT_TRUE(disk.is_off());
    }
    const bool cut_off = disk.is_off();
    disk.plan = nullptr;
    disk.power_cycle(seed);
    EXPECT_EQ(difference(model, sqlite_store{"/data", options}.load()), "")
        << "step " << last << ", seed " << seed;
    return cut_off;
  };
  std::uint64_t last = 1;
  while (tried(last, 0)) {
    for (std::uint64_t seed = 1; seed < 4; ++seed) tried(last, seed * last);
    ++last;
  }
  EXPECT_GT(last, 40U);
}

}  // namespace
}  // namespace conclave::server_impl
