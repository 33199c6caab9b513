// The SQLite VFS of the faulty disk.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>

#include "faulty_disk/faulty_disk.hpp"

namespace conclave::testing {

struct faulty_disk::open_file {
  sqlite3_file base;  // must be first: SQLite passes a pointer to it
  faulty_disk* disk;
  std::shared_ptr<inode> what;
  std::string name;      // empty for a temporary file, which has no faults
  bool sync_folder_too;  // for a new journal or log: the first sync also syncs its name
  bool remove_on_close;
};

struct faulty_disk::sqlite_face {
  static std::unique_ptr<sqlite3_vfs> make(faulty_disk& disk);

  static int open(sqlite3_vfs*, const char* name, sqlite3_file*, int flags, int* out_flags);
  static int remove(sqlite3_vfs*, const char* name, int sync_folder);
  static int access(sqlite3_vfs*, const char* name, int flags, int* out);

  static int close(sqlite3_file*);
  static int read(sqlite3_file*, void* to, int n, sqlite3_int64 offset);
  static int write(sqlite3_file*, const void* from, int n, sqlite3_int64 offset);
  static int truncate(sqlite3_file*, sqlite3_int64 size);
  static int sync(sqlite3_file*, int flags);
  static int size(sqlite3_file*, sqlite3_int64* out);
};

}  // namespace conclave::testing
