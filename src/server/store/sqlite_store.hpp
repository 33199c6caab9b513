// The store on disk: one SQLite file, docs/store.md.
//
// For one thread at a time. The folder is locked for as long as the object lives; destroying it
// leaves a single file, unless a commit failed: then the log stays for the next start to read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "server/core/rows.hpp"
#include "server/store/schema.hpp"

namespace conclave::server_impl {

class disk;

struct sqlite_store_options {
  // The length at which the write-ahead log is used anew. Made at once: 1 ms for a MiB.
  std::int64_t wal_bytes = 2 << 20;

  // For tests.
  disk* custom_disk = nullptr;  // null: the machine's own
  bool sync_commits = true;     // false: a crash of the machine may lose anything
  std::span<const upgrade_step> upgrades = known_upgrades();
};

// What was removed from a copy of a store when it was opened for the first time.
struct dropped_rows {
  std::int64_t sessions = 0;
  std::int64_t ephemeral_nodes = 0;
};

class sqlite_store final : public store {
 public:
  // Opens the store in the folder, or makes both if the folder was never used. Throws store_error
  // for anything else than a whole store that no other server uses.
  explicit sqlite_store(const std::filesystem::path& folder, sqlite_store_options options = {});
  ~sqlite_store() override;

  // Throws store_error if the rows make no tree.
  image load() override;

  // disk_full: nothing was written, and a later commit may work. store_error: no later commit will,
  // and the batch may be there or not when the store is opened again.
  void commit(const batch& changes) override;

  // Throws store_error if the folder was removed, moved or replaced, for good: another server may
  // have made a store at its name. Every commit checks this first.
  void check_folder();

  // A copy (a restored backup, a copied folder) is an older state: its sessions may live and know
  // nothing of the ephemeral nodes that came back. So opening a copy for the first time removes
  // them all. Zero: it was no copy, or had none.
  const dropped_rows& dropped() const noexcept;

  // Everything that was committed, in a new file that can stand as conclave.db in another folder.
  // An existing file is refused, and a failed backup leaves none. Commits must wait meanwhile.
  void backup(const std::filesystem::path& file);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace conclave::server_impl
