// The names of the files of a store, and the error messages about them.
#pragma once

#include <filesystem>
#include <string>

namespace conclave::server_impl {

struct database_error;

struct store_files {
  explicit store_files(const std::filesystem::path& data_folder);

  std::filesystem::path folder;  // absolute

  std::filesystem::path main() const { return folder / "conclave.db"; }
  std::filesystem::path wal() const { return folder / "conclave.db-wal"; }
  std::filesystem::path temporary() const { return folder / "conclave.db.new"; }
  std::filesystem::path upgrade_backup(int format) const;

  // Throws a store_error that names the file, the problem and what to do.
  [[noreturn]] void throw_store_error(const std::string& what) const;
  // Throws disk_full or store_error.
  [[noreturn]] void throw_store_error(const database_error& error) const;
};

}  // namespace conclave::server_impl
