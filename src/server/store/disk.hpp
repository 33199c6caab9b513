// The disk as a store sees it: SQLite's VFS, and the few things that SQLite has no word for. A
// seam: tests put a disk there that loses what was not synced.
//
// Everything throws store_error, or disk_full when there is no room.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace conclave::server_impl {

class disk {
 public:
  using path = std::filesystem::path;

  // A folder that is ours alone for as long as this lives.
  class folder_lock {
   public:
    virtual ~folder_lock() = default;
    // Whether a store was ever made in it; that is remembered beside the store.
    virtual bool store_was_created() const = 0;
    virtual void mark_store_created() = 0;
    // False once the folder was removed, moved or replaced: another server may have what is at its
    // name now.
    virtual bool is_valid() const = 0;
  };

  virtual ~disk() = default;

  virtual const char* vfs() const noexcept = 0;  // SQLite's name for it; null: the default one

  // Makes the folder, with its parents, if it is missing.
  virtual std::unique_ptr<folder_lock> lock_folder(const path& folder) = 0;

  virtual std::vector<std::string> list(const path& folder) = 0;
  virtual std::optional<std::uint64_t> size(
      const path& file) = 0;  // nothing: there is no such file
  virtual std::string read_prefix(const path& file, std::size_t bytes) = 0;

  virtual void create(
      const path& file) = 0;  // empty, readable by its owner only; never one that exists
  // When the file was made, in nanoseconds since 1970, if the file system knows: a copy is younger
  // than its original.
  virtual std::optional<std::int64_t> birth_time(const path& file) = 0;
  virtual void make_private(const path& file) = 0;  // to its owner, if we are that
  virtual void sync(const path& file) = 0;          // what it holds, not its name
  // Durable, or the new name is not there. Never over another file.
  virtual void rename(const path& from, const path& to) = 0;
  virtual void remove(const path& file) noexcept = 0;  // if it is there
};

disk& local_disk();

}  // namespace conclave::server_impl
