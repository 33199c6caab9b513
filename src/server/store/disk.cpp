#include "server/store/disk.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "server/store/lock_record.hpp"
#include "server/store/store_error.hpp"

namespace conclave::server_impl {
namespace {

[[noreturn]] void fail(std::string_view action, const std::filesystem::path& subject, int error) {
  const auto what = "cannot " + std::string{action} + ' ' + subject.native() + " (" +
                    std::generic_category().message(error) + ')';
  if (error == ENOSPC || error == EDQUOT) throw disk_full{what + "; make room on the disk"};
  if (error == EACCES || error == EPERM || error == EROFS) {
    throw store_error{what + "; the server runs as user " + std::to_string(::geteuid()) +
                      " and must be able to write there"};
  }
  throw store_error{what};
}

class unique_fd {
 public:
  unique_fd(const std::filesystem::path& file, int flags)
      : fd_{::open(file.c_str(), flags | O_CLOEXEC, 0600)} {
    if (fd_ < 0 || fd_ > 2) return;
    // The program may have closed its standard output. Its messages must not be written to this
    // file.
    const int unused = ::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
    ::close(std::exchange(fd_, unused));
  }
  ~unique_fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  unique_fd(const unique_fd&) = delete;
  unique_fd& operator=(const unique_fd&) = delete;

  explicit operator bool() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

// A store and its folder must belong to the server's own user, even if that user is root. The owner
// of a file could change the store, and a file that root creates would lock out the owner of the
// folder.
void require_own(const std::filesystem::path& subject, const struct stat& found) {
  if (found.st_uid == ::geteuid()) return;
  throw store_error{subject.native() + " belongs to user " + std::to_string(found.st_uid) +
                    ", but the server runs as user " + std::to_string(::geteuid()) +
                    "; run it as the owner, or choose another folder"};
}

void require_own_file(const std::filesystem::path& file, int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) fail("inspect", file, errno);
  require_own(file, found);
}

void require_own_folder(const std::filesystem::path& folder) {
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0) fail("inspect", folder, errno);
  require_own(folder, found);
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw store_error{"other users can write to " + folder.native() + "; try: chmod go-w " +
                      folder.native()};
}

// Throws if `error` means that open() with O_NOFOLLOW found a symbolic link.
void refuse_link(const std::filesystem::path& file, int error) {
  if (error == ELOOP)
    throw store_error{file.native() + " is a symbolic link; replace it with the file itself"};
}

void sync_folder(const std::filesystem::path& folder) {
  const unique_fd fd{folder, O_RDONLY | O_DIRECTORY};
  if (!fd || ::fsync(fd.get()) != 0) fail("sync the folder", folder, errno);
}

// Syncs every new directory entry: a store is only as durable as its path.
void make_folders(const std::filesystem::path& folder) {
  struct stat found {};
  if (::stat(folder.c_str(), &found) == 0) {
    if (!S_ISDIR(found.st_mode)) fail("use as a folder", folder, ENOTDIR);
    return;
  }
  if (errno != ENOENT) fail("inspect", folder, errno);
  const auto parent = folder.parent_path();
  make_folders(parent);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    fail("create the folder", folder, errno);
  }
  sync_folder(parent);
}

// The kernel releases a flock when the process exits. Unlike the POSIX locks of SQLite, it survives
// when this process closes another descriptor of the file.
class flock_folder_lock final : public disk::folder_lock {
 public:
  explicit flock_folder_lock(const std::filesystem::path& folder)
      : folder_{folder}, fd_{folder / "lock", O_RDWR | O_CREAT | O_NOFOLLOW} {
    if (!fd_) {
      const int error = errno;
      refuse_link(folder_ / "lock", error);
      fail("write to the folder", folder_, error);
    }
    require_own_file(folder_ / "lock", fd_.get());
    const auto owner = lock_record::process_of(read());
    if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) fail("lock the folder", folder_, errno);
      throw store_error{"the folder " + folder_.native() + " is in use by another server (" +
                        (owner.empty() ? "it is starting" : owner) +
                        "); stop that server, or choose another folder"};
    }
    if (!is_valid())
      throw store_error{"the folder " + folder_.native() +
                        " was removed while the server started; start it again"};
  }

  std::string read() const override {
    std::string out(200, '\0');
    const auto n = ::pread(fd_.get(), out.data(), out.size(), 0);
    out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return out;
  }
  void write(std::uint64_t offset, std::string_view bytes) override {
    if (::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(bytes.size()))
      fail("write", folder_ / "lock", errno);
  }
  void sync() override {
    if (::fdatasync(fd_.get()) != 0) fail("sync", folder_ / "lock", errno);
  }
  // Other errors, such as missing permissions, do not prove that the file is gone.
  bool is_valid() const override {
    struct stat ours {};
    struct stat found {};
    if (::stat((folder_ / "lock").c_str(), &found) != 0) return errno != ENOENT && errno != ENOTDIR;
    return ::fstat(fd_.get(), &ours) == 0 && ours.st_ino == found.st_ino &&
           ours.st_dev == found.st_dev;
  }

 private:
  std::filesystem::path folder_;
  unique_fd fd_;
};

class posix_disk final : public disk {
 public:
  const char* vfs() const noexcept override { return nullptr; }

  std::unique_ptr<folder_lock> lock_folder(const path& folder) override {
    make_folders(folder);
    if (::faccessat(AT_FDCWD, folder.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
      fail("read and write the folder", folder, errno);
    }
    require_own_folder(folder);
    return std::make_unique<flock_folder_lock>(folder);
  }

  std::vector<std::string> list(const path& folder) override {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator i{folder, error}, end; !error && i != end;
         i.increment(error)) {
      names.push_back(i->path().filename().native());
    }
    if (error) fail("list the folder", folder, error.value());
    return names;
  }

  std::optional<std::uint64_t> size(const path& file) override {
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0) {
      if (errno == ENOENT) return {};
      fail("inspect", file, errno);
    }
    if (!S_ISREG(found.st_mode)) throw store_error{file.native() + " is not a regular file"};
    return static_cast<std::uint64_t>(found.st_size);
  }

  std::string read_prefix(const path& file, std::size_t bytes) override {
    // Opened for writing to check that permission, too.
    const unique_fd fd{file, O_RDWR | O_NOFOLLOW};
    if (!fd) {
      const int error = errno;
      refuse_link(file, error);
      fail("read and write", file, error);
    }
    require_own_file(file, fd.get());
    std::string out(bytes, '\0');
    const auto n = ::pread(fd.get(), out.data(), bytes, 0);
    if (n < 0) fail("read", file, errno);
    out.resize(static_cast<std::size_t>(n));
    return out;
  }

  void create(const path& file) override {
    if (const unique_fd fd{file, O_WRONLY | O_CREAT | O_EXCL}; !fd) fail("create", file, errno);
  }

  std::optional<std::int64_t> birth_time(const path& file) override {
    struct statx found {};
    if (::statx(AT_FDCWD, file.c_str(), 0, STATX_BTIME, &found) != 0) fail("inspect", file, errno);
    if ((found.stx_mask & STATX_BTIME) == 0) return {};
    return found.stx_btime.tv_sec * 1'000'000'000 + found.stx_btime.tv_nsec;
  }

  void make_private(const path& file) override {
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0) fail("inspect", file, errno);
    if ((found.st_mode & 077) == 0 || (found.st_uid != ::geteuid() && ::geteuid() != 0)) return;
    if (::chmod(file.c_str(), 0600) != 0) fail("make private", file, errno);
  }

  void sync(const path& file) override {
    const unique_fd fd{file, O_RDONLY};
    if (!fd || ::fsync(fd.get()) != 0) fail("sync", file, errno);
  }

  void rename(const path& from, const path& to) override {
    // Some file systems do not support RENAME_NOREPLACE. On these, check for the target first.
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) {
      if (errno != EINVAL && errno != ENOSYS) fail("create", to, errno);
      if (size(to)) fail("create", to, EEXIST);
      if (::rename(from.c_str(), to.c_str()) != 0) fail("create", to, errno);
    }
    try {
      sync_folder(to.parent_path());
    } catch (const store_error&) {
      ::unlink(to.c_str());
      throw;
    }
  }

  void remove(const path& file) noexcept override { ::unlink(file.c_str()); }
};

}  // namespace

disk& local_disk() {
  static posix_disk instance;
  return instance;
}

}  // namespace conclave::server_impl
