// Opens and checks the database of a folder. Creates a new database only in a folder that never had
// a store, so that an empty store never replaces a lost one.
#pragma once

#include <filesystem>
#include <memory>

#include "server/store/database.hpp"
#include "server/store/disk.hpp"
#include "server/store/lock_record.hpp"
#include "server/store/sqlite_store.hpp"
#include "server/store/store_files.hpp"

namespace conclave::server_impl {

struct open_store {
  // Throws store_error or database_error.
  open_store(store_files names, const sqlite_store_options& options);

  disk& volume;
  store_files files;
  std::unique_ptr<disk::folder_lock> folder_lock;
  lock_record record;
  std::unique_ptr<database> db;

  dropped_rows dropped;

  // Writes all rows to a new file. The file is compact, synced and marked as a copy, and it has no
  // WAL. The function writes the file `part`, which must not exist, and then renames it to
  // `target`.
  void copy_to(const std::filesystem::path& target, const std::filesystem::path& part);

 private:
  void check_missing() const;
  void check_file() const;
  void create() const;
  void open();
  void check_format(const sqlite_store_options& options);
  void upgrade(int format, const sqlite_store_options& options);
  void prepare_wal(const sqlite_store_options& options);
  bool is_copy() const;
  void begin_run();
  void mark_as_copy(const std::filesystem::path& file) const;
};

}  // namespace conclave::server_impl
