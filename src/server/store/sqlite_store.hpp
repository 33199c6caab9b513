// The store on disk, in one SQLite file. See docs/store.md.
//
// Not thread-safe. The object locks its folder until it is destroyed. After its destruction, the
// whole store is in one file. If an error has made all later commits fail, the write-ahead log
// remains as well, and the next start reads both files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "server/core/duration_histogram.hpp"
#include "server/core/rows.hpp"
#include "server/store/schema.hpp"

namespace conclave::server_impl {

class disk;

struct sqlite_store_options {
  // Size at which the write-ahead log (WAL) is reused. This space is preallocated, which takes 1 ms
  // per MiB.
  std::int64_t wal_bytes = 2 << 20;

  // A step of shrink() removes this many pages from the file, and the file keeps this many free
  // pages. With 256 pages, or 1 MiB, a step takes about as long as a commit with a checkpoint.
  std::int64_t shrink_pages = 256;

  // For tests.
  disk* custom_disk = nullptr;  // null means local_disk()
  bool sync_commits = true;     // if false, a crash of the machine may lose commits
  std::span<const upgrade_step> upgrades = known_upgrades();
};

// The number of rows that were removed when a copied store was first opened.
struct dropped_rows {
  std::int64_t sessions = 0;
  std::int64_t ephemeral_nodes = 0;
};

struct disk_usage {
  std::uint64_t store_bytes = 0;    // of the main file
  std::uint64_t journal_bytes = 0;  // of the write-ahead log
  std::uint64_t free_bytes = 0;     // on their file system, for this process
};

class sqlite_store final : public store {
 public:
  // Opens the store in the folder. If the folder never had a store, creates the folder and the
  // store. Throws store_error if the store is incomplete, damaged or in use by another server.
  explicit sqlite_store(const std::filesystem::path& folder, sqlite_store_options options = {});
  ~sqlite_store() override;

  // Throws store_error if the rows do not form a tree.
  image load() override;

  // Throws disk_full if the disk is full. In that case, nothing was written, and a later commit may
  // succeed. Throws store_error on any other disk error. All later commits then fail, and the batch
  // may or may not be stored when the store is opened again.
  void commit(const batch& changes) override;

  // Returns unused space in the files to the file system, in one short step. Call it again while it
  // returns true. An eighth of the file may stay unused. Does nothing if the disk is full. Throws
  // store_error on any other disk error. All later commits then fail, too.
  bool shrink();

  // Throws store_error if the folder was removed, moved or replaced, because another server may use
  // a new folder with the same name. All later calls also throw. Every commit begins with this
  // check.
  void check_folder();

  // Reads the sizes of the files. A size that cannot be read is 0.
  disk_usage usage() const noexcept;
  // Returns how long each commit took to write its changes to the write-ahead log and to sync it.
  const duration_histogram& flush_times() const noexcept;

  // Returns the number of rows that were removed because the file is a copy (a restored backup, a
  // copied folder). A copy contains an older state. The clients of its sessions may still be alive,
  // but they do not know which ephemeral nodes the copy contains. So all sessions and ephemeral
  // nodes are removed when a copy is first opened.
  const dropped_rows& dropped() const noexcept;

  // Writes all committed rows to a new file, which can be used as conclave.db in another folder.
  // Fails if the file exists. A failed backup leaves no file.
  void backup(const std::filesystem::path& file);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace conclave::server_impl
