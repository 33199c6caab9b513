// From a folder to a database that can be trusted, or a refusal. There is no silent fresh start:
// only a folder in which no store was ever made gets one.
#pragma once

#include <filesystem>
#include <memory>

#include "server/store/database.hpp"
#include "server/store/disk.hpp"
#include "server/store/sqlite_store.hpp"
#include "server/store/store_files.hpp"

namespace conclave::server_impl {

struct open_store {
  // Throws database_error, too.
  open_store(store_files names, const sqlite_store_options& options);

  disk& volume;
  store_files files;
  std::unique_ptr<disk::folder_lock> folder_lock;
  std::unique_ptr<database> db;

  dropped_rows dropped;

  // A copy of everything in a new file: compact, synced, marked as a copy, and not in write-ahead
  // mode. It is written to `part`, which must not exist, and then renamed.
  void copy_to(const std::filesystem::path& target, const std::filesystem::path& part);

 private:
  void check_missing() const;
  void check_file() const;
  void create() const;
  void open();
  void check_format(const sqlite_store_options& options);
  void upgrade(int format, const sqlite_store_options& options);
  void prepare_wal(const sqlite_store_options& options);
  void check_for_copy();
  void mark_as_copy(const std::filesystem::path& file) const;
};

}  // namespace conclave::server_impl
