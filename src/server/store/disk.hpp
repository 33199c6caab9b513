// The file operations of a store: SQLite's VFS and the operations that SQLite does not have. Tests
// use a different implementation, which loses unsynced writes.
//
// All functions throw store_error, or disk_full if there is no space.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::server_impl {

class disk {
 public:
  using path = std::filesystem::path;

  // Gives exclusive use of a folder until the lock is destroyed. lock_record.hpp describes the
  // content of the lock file.
  class folder_lock {
   public:
    virtual ~folder_lock() = default;
    virtual std::string read() const = 0;
    virtual void write(std::uint64_t offset, std::string_view bytes) = 0;
    virtual void sync() = 0;  // syncs the written bytes, not the directory entry
    // Returns false if the folder was removed, moved or replaced. In these cases, another server
    // may already use a new folder with the same name.
    virtual bool is_valid() const = 0;
  };

  virtual ~disk() = default;

  // Returns the name of the SQLite VFS, or null for the default VFS.
  virtual const char* vfs() const noexcept = 0;

  // Creates the folder and its parents if they are missing.
  virtual std::unique_ptr<folder_lock> lock_folder(const path& folder) = 0;

  virtual std::vector<std::string> list(const path& folder) = 0;
  // Returns nullopt if there is no such file.
  virtual std::optional<std::uint64_t> size(const path& file) = 0;
  // Returns the first bytes of a file. The file must be readable and writable.
  virtual std::string read_prefix(const path& file, std::size_t bytes) = 0;

  // Creates an empty file that only its owner can read. Fails if the file exists.
  virtual void create(const path& file) = 0;
  // Returns the creation time in nanoseconds since 1970, or nullopt if the file system does not
  // store it. A copy of a file has a later creation time than the original.
  virtual std::optional<std::int64_t> birth_time(const path& file) = 0;
  // Revokes access for all other users if the server runs as the file's owner or as root.
  virtual void make_private(const path& file) = 0;
  virtual void sync(const path& file) = 0;  // syncs the content, not the directory entry
  // Renames the file durably. Throws if `to` exists, and leaves it unchanged. On any other failure,
  // throws, and `to` does not exist afterwards.
  virtual void rename(const path& from, const path& to) = 0;
  virtual void remove(const path& file) noexcept = 0;  // ignores errors
};

disk& local_disk();

}  // namespace conclave::server_impl
