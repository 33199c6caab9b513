#include "faulty_disk/faulty_vfs.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace conclave::testing {
namespace {

int code_of(faulty_disk::outcome result, int broken) {
  switch (result) {
    case faulty_disk::outcome::done: return SQLITE_OK;
    case faulty_disk::outcome::no_room: return SQLITE_FULL;
    case faulty_disk::outcome::over_quota:
    case faulty_disk::outcome::broken:
    case faulty_disk::outcome::power_off: break;
  }
  return broken;
}

}  // namespace

std::unique_ptr<sqlite3_vfs> faulty_disk::sqlite_face::make(faulty_disk& disk) {
  auto vfs = std::make_unique<sqlite3_vfs>();
  vfs->iVersion = 1;
  vfs->szOsFile = sizeof(open_file);
  vfs->mxPathname = 512;
  vfs->zName = disk.name_.c_str();
  vfs->pAppData = &disk;
  vfs->xOpen = open;
  vfs->xDelete = remove;
  vfs->xAccess = access;
  vfs->xFullPathname = [](sqlite3_vfs*, const char* name, int size, char* out) {
    return std::strlen(name) < static_cast<std::size_t>(size) ? (std::strcpy(out, name), SQLITE_OK)
                                                              : SQLITE_CANTOPEN;
  };
  vfs->xRandomness = [](sqlite3_vfs*, int n, char* out) {
    std::memset(out, 7, static_cast<std::size_t>(n));
    return n;
  };
  vfs->xSleep = [](sqlite3_vfs*, int microseconds) { return microseconds; };
  vfs->xCurrentTime = [](sqlite3_vfs*, double* out) {
    *out = 2460000.5;
    return SQLITE_OK;
  };
  vfs->xGetLastError = [](sqlite3_vfs* self, int, char*) {
    return static_cast<faulty_disk*>(self->pAppData)->last_errno_;
  };
  return vfs;
}

int faulty_disk::sqlite_face::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* out, int flags,
                                   int* out_flags) {
  static const sqlite3_io_methods methods = [] {
    sqlite3_io_methods m{};
    m.iVersion = 1;  // no shared memory; exclusive locking does not need it
    m.xClose = close;
    m.xRead = read;
    m.xWrite = write;
    m.xTruncate = truncate;
    m.xSync = sync;
    m.xFileSize = size;
    m.xLock = [](sqlite3_file*, int) { return SQLITE_OK; };
    m.xUnlock = [](sqlite3_file*, int) { return SQLITE_OK; };
    m.xCheckReservedLock = [](sqlite3_file*, int* held) {
      *held = 0;
      return SQLITE_OK;
    };
    m.xFileControl = [](sqlite3_file* self, int question, void* answer) {
      if (question != SQLITE_FCNTL_LAST_ERRNO) return SQLITE_NOTFOUND;
      *static_cast<int*>(answer) = reinterpret_cast<open_file*>(self)->disk->last_errno_;
      return SQLITE_OK;
    };
    m.xSectorSize = [](sqlite3_file*) { return 4096; };
    // As on Linux file systems, a torn write does not damage adjacent data.
    m.xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; };
    return m;
  }();

  auto& disk = *static_cast<faulty_disk*>(vfs->pAppData);
  out->pMethods = nullptr;
  std::shared_ptr<inode> what;
  bool is_new = false;
  if (name == nullptr) {
    what = std::make_shared<inode>();
  } else if (const auto i = disk.names_.find(name); i != disk.names_.end()) {
    if ((flags & SQLITE_OPEN_EXCLUSIVE) != 0) return SQLITE_CANTOPEN;
    what = i->second;
  } else {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    what = std::make_shared<inode>();
    is_new = true;
    const auto result = disk.change_names(act::create, {{}, name, what});
    if (result != outcome::done) return code_of(result, SQLITE_CANTOPEN);
  }
  const bool journal = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
  new (out) open_file{{&methods},        &disk,
                      std::move(what),   name != nullptr ? name : "",
                      is_new && journal, (flags & SQLITE_OPEN_DELETEONCLOSE) != 0};
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int faulty_disk::sqlite_face::remove(sqlite3_vfs* self, const char* name, int sync_folder) {
  auto& disk = *static_cast<faulty_disk*>(self->pAppData);
  if (!disk.names_.contains(name)) return SQLITE_IOERR_DELETE_NOENT;
  auto result = disk.change_names(act::remove, {name, {}, {}});
  if (result == outcome::done && sync_folder != 0) result = disk.sync_names(name);
  return code_of(result, SQLITE_IOERR_DELETE);
}

int faulty_disk::sqlite_face::access(sqlite3_vfs* self, const char* name, int flags, int* out) {
  const auto& disk = *static_cast<faulty_disk*>(self->pAppData);
  const auto i = disk.names_.find(name);
  // Like SQLite's own VFS, ignores empty files.
  *out = i != disk.names_.end() && (flags != SQLITE_ACCESS_EXISTS || !i->second->now.empty());
  return SQLITE_OK;
}

int faulty_disk::sqlite_face::close(sqlite3_file* self) {
  auto* f = reinterpret_cast<open_file*>(self);
  if (f->remove_on_close && !f->name.empty()) f->disk->remove(f->name);
  f->~open_file();
  return SQLITE_OK;
}

int faulty_disk::sqlite_face::read(sqlite3_file* self, void* to, int n, sqlite3_int64 offset) {
  const auto* f = reinterpret_cast<open_file*>(self);
  if (f->disk->off_) return SQLITE_IOERR_READ;
  const auto& bytes = f->what->now;
  const auto wanted = static_cast<std::size_t>(n);
  const auto begin = std::min(static_cast<std::size_t>(offset), bytes.size());
  const auto found = std::min(wanted, bytes.size() - begin);
  std::memcpy(to, bytes.data() + begin, found);
  std::memset(static_cast<char*>(to) + found, 0, wanted - found);
  return found == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int faulty_disk::sqlite_face::write(sqlite3_file* self, const void* from, int n,
                                    sqlite3_int64 offset) {
  auto* f = reinterpret_cast<open_file*>(self);
  inode::change change{false,
                       static_cast<std::uint64_t>(offset),
                       {static_cast<const char*>(from), static_cast<std::size_t>(n)}};
  if (f->name.empty()) {
    apply(f->what->now, change);
    return SQLITE_OK;
  }
  return code_of(f->disk->change_file(act::write, f->name, *f->what, std::move(change)),
                 SQLITE_IOERR_WRITE);
}

int faulty_disk::sqlite_face::truncate(sqlite3_file* self, sqlite3_int64 size) {
  auto* f = reinterpret_cast<open_file*>(self);
  inode::change change{true, static_cast<std::uint64_t>(size), {}};
  if (f->name.empty()) {
    apply(f->what->now, change);
    return SQLITE_OK;
  }
  return code_of(f->disk->change_file(act::truncate, f->name, *f->what, std::move(change)),
                 SQLITE_IOERR_TRUNCATE);
}

int faulty_disk::sqlite_face::sync(sqlite3_file* self, int /*flags*/) {
  auto* f = reinterpret_cast<open_file*>(self);
  if (f->name.empty()) return SQLITE_OK;
  auto result = f->disk->sync_file(f->name, *f->what);
  if (result == outcome::done && f->sync_folder_too) {
    result = f->disk->sync_names(f->name);
    if (result == outcome::done) f->sync_folder_too = false;
  }
  return result == outcome::done ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}

int faulty_disk::sqlite_face::size(sqlite3_file* self, sqlite3_int64* out) {
  *out = static_cast<sqlite3_int64>(reinterpret_cast<open_file*>(self)->what->now.size());
  return SQLITE_OK;
}

}  // namespace conclave::testing
