#include "server/store/open_store.hpp"

#include <array>
#include <cstdio>
#include <random>
#include <string_view>
#include <utility>

#include "server/store/load_image.hpp"
#include "server/store/schema.hpp"
#include "server/store/store_error.hpp"

namespace conclave::server_impl {
namespace {

using namespace std::string_view_literals;

// https://www.sqlite.org/fileformat2.html
constexpr std::size_t header_size = 100;
constexpr std::size_t mode_offset = 18;  // 1: rollback journal, 2: write-ahead log
constexpr std::size_t application_id_offset = 68;

// The value of meta.born in a copy that was never opened.
constexpr auto unopened_copy = "copy"sv;

std::filesystem::path with_suffix(std::filesystem::path file, const char* suffix) {
  file += suffix;
  return file;
}

std::string random_run() {
  std::random_device random;
  std::array<char, lock_record::run_size + 1> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
  return text.data();
}

}  // namespace

open_store::open_store(store_files names, const sqlite_store_options& options)
    : volume{options.custom_disk != nullptr ? *options.custom_disk : local_disk()},
      files{std::move(names)},
      folder_lock{volume.lock_folder(files.folder)},
      record{*folder_lock} {
  if (!volume.size(files.main())) {
    check_missing();
    create();
  }
  check_file();
  record.mark_store_created();
  volume.make_private(files.main());
  open();
  check_format(options);
  prepare_wal(options);
  begin_run();
  db->checkpoint_on_close(true);
}

void open_store::check_missing() const {
  const auto ours = files.main().filename().native();
  const auto temporary = files.temporary().filename().native();
  for (const auto& name : volume.list(files.folder)) {
    if (name.starts_with(ours) && !name.starts_with(temporary)) {
      files.throw_store_error("is missing, but " + name + " is there");
    }
  }
  if (record.store_was_created())
    files.throw_store_error("is missing, although a store was created here before");
}

// The store is created under a temporary name, so that a crash leaves either no store or a complete
// one.
void open_store::create() const {
  const auto temporary = files.temporary();
  volume.remove(temporary);
  volume.create(temporary);
  {
    database fresh{temporary.native(), volume.vfs()};
    fresh.run("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
    create_schema(fresh);
  }
  volume.sync(temporary);
  volume.rename(temporary, files.main());
}

// Runs before SQLite opens the file, because SQLite would start to recover a foreign database.
void open_store::check_file() const {
  const auto header = volume.read_prefix(files.main(), header_size);
  if (header.empty()) files.throw_store_error("is empty");
  if (!header.starts_with("SQLite format 3\0"sv.substr(0, header.size()))) {
    files.throw_store_error("is not a store of Conclave");
  }
  if (header.size() < header_size) files.throw_store_error("is truncated");
  std::uint32_t application_id = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    application_id =
        application_id << 8 | static_cast<unsigned char>(header[application_id_offset + i]);
  }
  if (application_id != store_application_id) {
    files.throw_store_error("is an SQLite file of another program");
  }
  const auto wal_size = volume.size(files.wal());
  if (!wal_size) return;
  static_cast<void>(volume.read_prefix(files.wal(), 1));  // checks the owner and the permissions
  if (*wal_size == 0) return;
  // SQLite cannot detect that the WAL belongs to another file, and would mix both files.
  if (header[mode_offset] == 1) {
    throw store_error{files.main().native() + " is a backup, and " + files.wal().native() +
                      " belongs to an earlier store in this folder; move that file away"};
  }
}

void open_store::open() {
  db = std::make_unique<database>(files.main().native(), volume.vfs());
  if (db->read_only()) throw store_error{files.main().native() + " cannot be written"};
  db->checkpoint_on_close(false);  // a store that is refused later stays unchanged
  // This must be the first statement, so that the WAL index is in memory and needs no file.
  db->run("PRAGMA main.locking_mode = EXCLUSIVE");
  // Like FULL, and also syncs the folder when the journal mode changes to WAL.
  db->run("PRAGMA main.synchronous = EXTRA");
}

void open_store::check_format(const sqlite_store_options& options) {
  const auto format = static_cast<int>(db->integer("PRAGMA user_version").value_or(0));
  if (format > store_format) {
    std::string writer = "a later version";
    try {
      writer = db->text(
                     "SELECT value FROM meta WHERE key IN ('upgraded_by', 'created_by') "
                     "ORDER BY key DESC")
                   .value_or(writer);
    } catch (const database_error&) {  // the later format may have no such table
    }
    throw store_error{files.main().native() + " has format " + std::to_string(format) + ", and " +
                      this_program() + " knows formats up to " + std::to_string(store_format) +
                      "; run " + writer + " or newer, or restore a backup of an older format"};
  }
  const auto verdict = db->text("PRAGMA quick_check(1)").value_or("no answer");
  if (verdict != "ok") files.throw_store_error("is damaged (" + verdict + ')');
  if (format < store_format) upgrade(format, options);
  if (db->integer("SELECT value FROM meta WHERE key = 'format'") != store_format) {
    files.throw_store_error("is damaged (its two format numbers differ)");
  }
}

void open_store::upgrade(int format, const sqlite_store_options& options) {
  const auto copy = files.upgrade_backup(format);
  const auto part = with_suffix(copy, ".part");
  for (const auto& left : {copy, part}) volume.remove(left);  // left by an interrupted upgrade
  copy_to(copy, part);
  try {
    db->run("BEGIN");
    upgrade_schema(*db, format, options.upgrades);
    db->run("COMMIT");
  } catch (const std::exception& error) {
    db->rollback();
    throw store_error{"cannot upgrade " + files.main().native() + " from format " +
                      std::to_string(format) + " to " + std::to_string(store_format) + " (" +
                      error.what() + "); the file is unchanged, and a copy is in " + copy.native()};
  }
}

void open_store::mark_as_copy(const std::filesystem::path& file) const {
  database copy{file.native(), volume.vfs()};
  copy.run("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
  copy.run("DELETE FROM meta WHERE key = 'run'");
  statement{copy, "INSERT OR REPLACE INTO meta VALUES ('born', ?)"}.run(unopened_copy);
}

void open_store::prepare_wal(const sqlite_store_options& options) {
  if (db->text("PRAGMA main.journal_mode = WAL") != "wal") {
    throw store_error{"SQLite cannot use a write-ahead log for " + files.main().native()};
  }
  if (!options.sync_commits) db->run("PRAGMA main.synchronous = OFF");
  // Limits the size of the WAL file after a burst of changes.
  db->run("PRAGMA main.journal_size_limit = " + std::to_string(8 * options.wal_bytes));
  try {
    db->checkpoint();  // the WAL that the last process left
  } catch (const database_error& error) {
    if (!error.is_disk_full()) throw;
  }
  db->preallocate_wal(options.wal_bytes);
}

// Returns true if the file contains an older state than the last server left in this folder: see
// sqlite_store::dropped(). A copy that replaces the file has another creation time. A copy that
// overwrites the content of the file has another run.
bool open_store::is_copy() const {
  if (const auto known = db->text("SELECT value FROM meta WHERE key = 'born'")) {
    const auto birth = volume.birth_time(files.main());
    if (*known == unopened_copy || (birth && *known != std::to_string(*birth))) return true;
  }
  const auto run = db->text("SELECT value FROM meta WHERE key = 'run'");
  return run && record.has_runs() && !record.has_run(*run);
}

// If the file is a copy, its sessions are removed in the commit that makes it the store of this
// folder, so an interrupted start is repeated with the copy.
void open_store::begin_run() {
  const bool copied = is_copy();
  if (copied) static_cast<void>(load_image(*db, files));  // throws before anything is changed
  const auto run = random_run();
  try {
    record.begin_run(run,
                     copied ? std::nullopt : db->text("SELECT value FROM meta WHERE key = 'run'"));
    db->run("BEGIN");
    if (copied) drop_sessions(*db, dropped.sessions, dropped.ephemeral_nodes);
    statement put{*db, "INSERT OR REPLACE INTO meta VALUES (?, ?)"};
    if (const auto birth = volume.birth_time(files.main()))
      put.run("born"sv, std::string_view{std::to_string(*birth)});
    else
      db->run("DELETE FROM meta WHERE key = 'born'");
    put.run("run"sv, std::string_view{run});
    db->run("COMMIT");
    record.keep_only(run);
  } catch (const disk_full&) {
    if (copied) throw;  // otherwise the store continues with its previous run
  } catch (const database_error& error) {
    db->rollback();
    if (copied || !error.is_disk_full()) throw;
  }
}

void open_store::copy_to(const std::filesystem::path& target, const std::filesystem::path& part) {
  const auto journal = with_suffix(part, "-journal");
  volume.create(part);
  try {
    statement{*db, "VACUUM main INTO ?"}.run(part.native());
    mark_as_copy(part);
    volume.sync(part);
    volume.rename(part, target);
  } catch (...) {
    volume.remove(part);
    volume.remove(journal);
    throw;
  }
}

}  // namespace conclave::server_impl
