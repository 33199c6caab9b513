// A damaged store is refused with a reason and never replaced by an empty one.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "in_child.hpp"
#include "row_model.hpp"
#include "server/store/sqlite_store.hpp"
#include "server/store/store_error.hpp"
#include "sql.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::server_impl {
namespace {

namespace fs = std::filesystem;
using testing::first_batch;
using testing::in_child;
using testing::plain_node;
using testing::sql;

std::string bytes_of(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void write_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream{file, std::ios::binary | std::ios::trunc} << bytes;
}

class refusal : public ::testing::Test {
 protected:
  // A store with a tree, a session and an ephemeral node, closed.
  void make_store() {
    auto made = first_batch(5);
    auto row = plain_node(5);
    row.kind = node_kind::ephemeral;
    row.owner = 77;
    made.put("/a/e", row);
    made.changes.parents.push_back({"/a", {1, 5}});
    made.changes.sessions = {{77, 30000, {}}};
    sqlite_store{folder}.commit(made.changes);
  }

  // A store whose server was killed: the log contains changes that the file lacks.
  void make_killed_store() {
    make_store();
    EXPECT_NE(in_child([this] {
                sqlite_store store{folder};
                auto made = first_batch(6);
                store.commit(made.changes);
                ::kill(::getpid(), SIGKILL);
              }),
              "");
    ASSERT_GT(fs::file_size(log), 4096U);
  }

  std::string reason() {
    try {
      sqlite_store{folder}.load();
    } catch (const store_error& error) {
      return error.what();
    }
    return "it was not refused";
  }
  // Every message says what is wrong and what to do.
  void expect_refused(const std::string& what) {
    EXPECT_EQ(reason(), file.native() + ' ' + what + "; restore a backup, or move the folder " +
                            folder.native() + " away to start with an empty store");
  }
  void expect_damage(const std::string& statement, const std::string& what) {
    if (!fs::exists(folder)) make_store();
    const auto whole = bytes_of(file);
    sql(file, "PRAGMA synchronous = OFF; " + statement);
    expect_refused("is damaged (" + what + ")");
    write_bytes(file, whole);
  }

  testing::temporary_directory scratch;
  fs::path folder = scratch.path() / "data";
  fs::path file = folder / "conclave.db";
  fs::path log = folder / "conclave.db-wal";
};

// Root is no exception: the owner of the file could change the store.
TEST_F(refusal, files_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change owners: run this as root";
  for (const auto& one : {file, log, folder / "lock"}) {
    SCOPED_TRACE(one);
    fs::remove_all(folder);
    make_killed_store();
    ASSERT_EQ(::chown(one.c_str(), 54321, 54321), 0);
    EXPECT_EQ(reason(), one.native() +
                            " belongs to user 54321, but the server runs as user 0; run it as the "
                            "owner, or choose another folder");
  }
}

// The files that root creates there would lock the owner out.
TEST_F(refusal, a_folder_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change owners: run this as root";
  const auto expected = folder.native() +
                        " belongs to user 54321, but the server runs as user 0; run it as the "
                        "owner, or choose another folder";
  fs::create_directory(folder);
  ASSERT_EQ(::chown(folder.c_str(), 54321, 54321), 0);
  EXPECT_EQ(reason(), expected);
  EXPECT_TRUE(fs::is_empty(folder));

  fs::remove_all(folder);
  make_store();
  ASSERT_EQ(::chown(folder.c_str(), 54321, 54321), 0);
  EXPECT_EQ(reason(), expected);
}

TEST_F(refusal, a_folder_that_others_can_write_to) {
  make_store();
  for (const auto mode : {0770U, 0702U}) {
    ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
    EXPECT_EQ(reason(), "other users can write to " + folder.native() + "; try: chmod go-w " +
                            folder.native());
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(sqlite_store{folder}.load().zxid, 5);
}

TEST_F(refusal, symbolic_links) {
  for (const auto& one : {file, log, folder / "lock"}) {
    SCOPED_TRACE(one);
    fs::remove_all(folder);
    make_killed_store();
    const auto target = folder / "elsewhere";
    fs::rename(one, target);
    const auto before = bytes_of(target);
    fs::create_symlink(target, one);
    EXPECT_EQ(reason(), one.native() + " is a symbolic link; replace it with the file itself");
    EXPECT_EQ(bytes_of(target), before);
  }
}

TEST_F(refusal, an_empty_file) {
  make_store();
  write_bytes(file, "");
  expect_refused("is empty");
  expect_refused("is empty");  // the refusal has changed nothing
}

TEST_F(refusal, a_truncated_file) {
  for (const std::size_t left : {1, 16, 99, 100, 4095, 4096, 12288}) {
    make_store();
    write_bytes(file, bytes_of(file).substr(0, left));
    const auto said = reason();
    EXPECT_TRUE(said.starts_with(file.native() + (left < 100 ? " is truncated" : " is damaged (")))
        << said;
    EXPECT_NE(said.find("restore a backup"), std::string::npos) << said;
    fs::remove_all(folder);
  }
}

TEST_F(refusal, a_file_of_another_format) {
  fs::create_directory(folder);
  for (const auto& text : {std::string{"hello"}, std::string(8192, '\0'), std::string(5000, 'x')}) {
    write_bytes(file, text);
    expect_refused("is not a store of Conclave");
    EXPECT_EQ(bytes_of(file), text);
  }
}

TEST_F(refusal, a_database_of_another_program_is_not_touched) {
  fs::create_directory(folder);
  sql(file, "PRAGMA journal_mode=WAL; CREATE TABLE nodes (x); INSERT INTO nodes VALUES (1)");
  const auto before = bytes_of(file);
  expect_refused("is an SQLite file of another program");
  EXPECT_EQ(bytes_of(file), before);
}

TEST_F(refusal, a_log_without_its_file) {
  make_killed_store();
  fs::remove(file);
  fs::remove(folder / "lock");
  expect_refused("is missing, but conclave.db-wal is there");
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(refusal, a_folder_whose_file_is_missing) {
  make_store();
  fs::remove(file);
  expect_refused("is missing, although a store was created here before");
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(refusal, an_interrupted_first_start_is_repeated) {
  fs::create_directory(folder);
  write_bytes(folder / "conclave.db.new", "half of it");
  EXPECT_EQ(sqlite_store{folder}.load().zxid, 0);
  EXPECT_FALSE(fs::exists(folder / "conclave.db.new"));
}

TEST_F(refusal, a_backup_next_to_the_log_of_the_previous_store) {
  make_killed_store();
  const auto kept = folder / "backup";
  {
    fs::create_directory(scratch.path() / "other");
    fs::copy(file, scratch.path() / "other" / "conclave.db");
    sqlite_store{scratch.path() / "other"}.backup(kept);
  }
  fs::rename(kept, file);
  const auto log_before = bytes_of(log);
  EXPECT_EQ(reason(), file.native() + " is a backup, and " + log.native() +
                          " belongs to an earlier store in this folder; move that file away");
  EXPECT_EQ(bytes_of(log), log_before);
  fs::remove(log);
  EXPECT_EQ(sqlite_store{folder}.load().zxid, 6) << "the end of its sessions took one";
}

TEST_F(refusal, a_newer_format_is_not_changed) {
  make_store();
  sql(file,
      "PRAGMA user_version = 3; UPDATE meta SET value = 3 WHERE key = 'format';"
      "INSERT INTO meta VALUES ('upgraded_by', 'conclave 9.1.0'); DROP TABLE children");
  const auto before = bytes_of(file);
  EXPECT_EQ(reason(), file.native() +
                          " has format 3, and conclave 0.1.0 knows formats up to 1; run conclave "
                          "9.1.0 or newer, or restore a backup of an older format");
  EXPECT_EQ(bytes_of(file), before);
}

TEST_F(refusal, damaged_pages) {
  int refused = 0;
  for (const std::size_t page : {0, 1, 2, 3, 4}) {
    make_store();
    auto bytes = bytes_of(file);
    ASSERT_GE(bytes.size(), 5U * 4096);
    // In page 1 after the header, in other pages at the start.
    for (std::size_t i = 0; i < 40; ++i) bytes[page * 4096 + (page == 0 ? 100 : 0) + i] ^= '\x55';
    write_bytes(file, bytes);
    const auto said = reason();
    refused += said.starts_with(file.native() + " is damaged (") ? 1 : 0;
    fs::remove_all(folder);
  }
  EXPECT_EQ(refused, 5);
}

TEST_F(refusal, damage_keeps_the_log) {
  make_killed_store();
  auto bytes = bytes_of(file);
  for (std::size_t page = 1; page * 4096 < bytes.size(); ++page) bytes[page * 4096] = '\x55';
  write_bytes(file, bytes);
  const auto log_before = bytes_of(log);
  EXPECT_NE(reason().find("is damaged ("), std::string::npos);
  EXPECT_EQ(bytes_of(log), log_before);
  EXPECT_EQ(bytes_of(file), bytes);
}

TEST_F(refusal, rows_that_are_not_a_tree) {
  expect_damage("DELETE FROM nodes WHERE path = '/a'; DELETE FROM children WHERE path = '/a'",
                "the node /a/e has no parent");
  expect_damage("DELETE FROM nodes WHERE path = '/'; DELETE FROM children WHERE path = '/'",
                "the node /a has no parent");
  expect_damage("DELETE FROM nodes; DELETE FROM children; DELETE FROM sessions",
                "the node / is missing");
  expect_damage("UPDATE nodes SET path = '/a-b' WHERE path = '/a'; DELETE FROM children",
                "the node /a/e has no parent");
  expect_damage("UPDATE nodes SET path = '/a/' WHERE path = '/a/e'",
                "the node /a/ has an invalid path");
  expect_damage("UPDATE nodes SET path = 'x' || char(10) WHERE path = '/a/e'",
                "the node x? has an invalid path");
  expect_damage("DELETE FROM sessions", "the node /a/e is ephemeral, and its session is missing");
  expect_damage("UPDATE meta SET value = 4 WHERE key = 'zxid'",
                "the node / is newer than the zxid of the store");
  expect_damage("UPDATE nodes SET mzxid = 6 WHERE path = '/a'",
                "the node /a is newer than the zxid of the store");
  expect_damage("UPDATE children SET path = '/b' WHERE path = '/a'",
                "the node /b is missing, but its children were counted");
  expect_damage("UPDATE nodes SET kind = 'odd' WHERE path = '/a'",
                "the node /a is of an unknown kind");
  expect_damage("UPDATE nodes SET acl = 'odd' WHERE path = '/a'",
                "the node /a has an acl that cannot be read");
  expect_damage("UPDATE nodes SET version = 3000000000 WHERE path = '/a'", "a number is too large");
  expect_damage("UPDATE sessions SET password = x'00'", "a session has no password");
  expect_damage("DELETE FROM meta WHERE key = 'zxid'", "it has no zxid");
  expect_damage("UPDATE meta SET value = 'odd' WHERE key = 'zxid'", "it has no zxid");
  expect_damage("UPDATE meta SET value = 2 WHERE key = 'format'", "its two format numbers differ");
  expect_damage("DROP TABLE sessions", "no such table: sessions");
}

TEST_F(refusal, a_second_server) {
  sqlite_store first{folder};
  const auto expected = "the folder " + folder.native() + " is in use by another server (process " +
                        std::to_string(::getpid()) +
                        "); stop that server, or choose another folder";
  EXPECT_EQ(reason(), expected);
  EXPECT_EQ(in_child([this] { sqlite_store{folder}; }), expected);
  first.commit(first_batch(5).changes);
  EXPECT_EQ(reason(), expected) << "still locked after a refusal";
}

TEST_F(refusal, the_lock_ends_with_its_process) {
  make_killed_store();
  EXPECT_EQ(sqlite_store{folder}.load().zxid, 6);
}

TEST_F(refusal, a_file_that_another_program_has_open) {
  make_store();
  const auto shell = testing::open_sql(file);
  sql(shell.get(), "BEGIN; SELECT * FROM meta");
  EXPECT_EQ(reason(),
            file.native() + " is open in another program, perhaps sqlite3; close that program");
  sql(shell.get(), "COMMIT");
}

TEST_F(refusal, files_without_permission) {
  const auto tried = [this] {
    return testing::as_owner_without_privileges(folder, [this] { sqlite_store{folder}.load(); });
  };
  const auto denied = [](const std::string& what) {
    return "cannot " + what + " (Permission denied); the server runs as user " +
           std::to_string(::geteuid() == 0 ? testing::nobody : ::geteuid()) +
           " and must be able to write there";
  };
  make_killed_store();
  for (const auto mode : {0400U, 0200U, 0U}) {
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    EXPECT_EQ(tried(), denied("read and write " + file.native())) << mode;
  }
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  ASSERT_EQ(::chmod(log.c_str(), 0400), 0);
  EXPECT_EQ(tried(), denied("read and write " + log.native()));
  ASSERT_EQ(::chmod(log.c_str(), 0600), 0);
  for (const auto mode : {0500U, 0300U}) {
    ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
    EXPECT_EQ(tried(), denied("read and write the folder " + folder.native())) << mode;
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0600), 0);
  EXPECT_NE(tried(), "");
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  EXPECT_EQ(tried(), "") << "loads with the permissions restored";
}

TEST_F(refusal, a_file_where_the_folder_should_be) {
  write_bytes(folder, "x");
  EXPECT_EQ(reason(), "cannot use as a folder " + folder.native() + " (Not a directory)");
  fs::remove(folder);
  fs::create_directories(file);
  EXPECT_EQ(reason(), file.native() + " is not a regular file");
}

TEST_F(refusal, a_restored_file_is_made_private) {
  make_store();
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(sqlite_store{folder}.load().zxid, 5);
  struct stat found {};
  ASSERT_EQ(::stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

}  // namespace
}  // namespace conclave::server_impl
