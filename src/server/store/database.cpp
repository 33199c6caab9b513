#include "server/store/database.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace conclave::server_impl {
namespace {

database_error wal_error(const std::string& problem, int result, int system = 0) {
  return {problem + " the write-ahead log: " + sqlite3_errstr(result), result, system};
}

}  // namespace

database_error::database_error(const std::string& what, int result_code, int system_code)
    : std::runtime_error{what}, result{result_code}, system{system_code} {}

// SQLite reports SQLITE_FULL for ENOSPC only. A failed sync never counts as a full disk, whatever
// its errno: see impl::checkpoint().
bool database_error::is_disk_full() const noexcept {
  return (result & 0xff) == SQLITE_FULL || (result == SQLITE_IOERR_WRITE && system == EDQUOT);
}

bool database_error::is_corrupt() const noexcept {
  const int code = result & 0xff;
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR ||
         result == SQLITE_IOERR_SHORT_READ;
}

bool database_error::is_busy() const noexcept {
  const int code = result & 0xff;
  return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

database::database(const std::string& file, const char* vfs) {
  // The database is used by one thread at a time.
  const int result =
      sqlite3_open_v2(file.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs);
  if (handle_ != nullptr) sqlite3_extended_result_codes(handle_, 1);
  if (result != SQLITE_OK) {
    try {
      fail(result);
    } catch (...) {
      sqlite3_close(handle_);
      throw;
    }
  }
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // Replaces SQLite's automatic checkpoint, which does not report errors.
  sqlite3_wal_hook(
      handle_,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<database*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      this);
}

database::~database() { sqlite3_close_v2(handle_); }

void database::fail(int result) const {
  std::string what = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(result);
  const int code = result & 0xff;
  const int system = code == SQLITE_IOERR || code == SQLITE_CANTOPEN ? system_error() : 0;
  if (system != 0) what += ", " + std::generic_category().message(system);
  throw database_error{what, result, system};
}

// sqlite3_system_errno() misses the errno of a failed COMMIT. The WAL file has it.
int database::system_error() const noexcept {
  if (handle_ == nullptr) return 0;
  int error = 0;
  if (auto* file = wal_file(); file != nullptr) {
    file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
  }
  return error != 0 ? error : sqlite3_system_errno(handle_);
}

void database::run(const std::string& sql) {
  const int result = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) fail(result);
}

std::optional<std::string> database::text(const std::string& sql) {
  statement query{*this, sql};
  if (!query.next() || query.null(0)) return {};
  return std::string{query.bytes(0)};
}

std::optional<std::int64_t> database::integer(const std::string& sql) {
  statement query{*this, sql};
  if (!query.next() || query.null(0)) return {};
  return query.integer(0);
}

bool database::read_only() const noexcept { return sqlite3_db_readonly(handle_, "main") != 0; }

bool database::in_transaction() const noexcept { return sqlite3_get_autocommit(handle_) == 0; }

void database::rollback() noexcept {
  // Many errors roll back automatically. If this rollback fails, in_transaction() stays true.
  if (in_transaction()) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void database::checkpoint() { checkpoint(SQLITE_CHECKPOINT_PASSIVE); }

void database::checkpoint(int mode) {
  const int result = sqlite3_wal_checkpoint_v2(handle_, "main", mode, nullptr, nullptr);
  if (result != SQLITE_OK) fail(result);
  wal_pages_ = 0;
}

// The sync makes the empty file durable before anything is written to it again. Otherwise a power
// failure could leave the first old frames, and recovery would restore old pages from them.
void database::truncate_wal() {
  checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
  auto* wal = wal_file();
  if (wal == nullptr) return;
  const int result = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
  if (result != SQLITE_OK) throw wal_error("cannot truncate", result);
}

std::int64_t database::wal_size() const {
  auto* wal = wal_file();
  if (wal == nullptr) return 0;
  sqlite3_int64 size = 0;
  const int result = wal->pMethods->xFileSize(wal, &size);
  if (result != SQLITE_OK) throw wal_error("cannot inspect", result);
  return size;
}

void database::release_memory() noexcept { sqlite3_db_release_memory(handle_); }

sqlite3_file* database::wal_file() const noexcept {
  sqlite3_file* wal = nullptr;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
  return wal != nullptr && wal->pMethods != nullptr ? wal : nullptr;  // the WAL is not open yet
}

void database::preallocate_wal(std::int64_t bytes) {
  auto* wal = wal_file();
  if (wal == nullptr) return;
  int result = SQLITE_OK;
  auto size = wal_size();
  // Writes zeros instead of using fallocate(): with reserved space, every sync also writes the
  // journal of the file system. SQLite treats zeros as the end of the WAL, because they have no
  // checksum.
  static constexpr std::array<char, 65536> zeros{};  // SQLite writes at most 128 KiB at once
  while (result == SQLITE_OK && size < bytes) {
    const auto n = std::min<std::int64_t>(zeros.size(), bytes - size);
    result = wal->pMethods->xWrite(wal, zeros.data(), static_cast<int>(n), size);
    size += n;
  }
  if (result != SQLITE_OK) {
    const auto error = wal_error("cannot prepare", result, system_error());
    if (!error.is_disk_full()) throw error;  // otherwise the WAL grows on demand
  }
  result = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
  if (result != SQLITE_OK) throw wal_error("cannot prepare", result);
}

void database::checkpoint_on_close(bool on) noexcept {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, nullptr);
}

statement::statement(database& db, std::string_view sql) : db_{db} {
  check(sqlite3_prepare_v3(db.handle(), sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &handle_, nullptr));
}

statement::~statement() { sqlite3_finalize(handle_); }

void statement::bind(int position, std::int64_t value) {
  check(sqlite3_bind_int64(handle_, position, value));
}

void statement::bind(int position, std::string_view text) {
  // SQLite treats a null pointer as NULL.
  check(sqlite3_bind_text64(handle_, position, text.data() != nullptr ? text.data() : "",
                            text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void statement::bind(int position, blob value) {
  if (value.null) return check(sqlite3_bind_null(handle_, position));
  check(sqlite3_bind_blob64(handle_, position,
                            value.bytes.data() != nullptr ? value.bytes.data() : "",
                            value.bytes.size(), SQLITE_STATIC));
}

void statement::run_to_end() {
  while (next()) {
  }
}

bool statement::next() {
  const int result = sqlite3_step(handle_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) {
    // sqlite3_reset() clears the error, so throw first.
    try {
      db_.fail(result);
    } catch (...) {
      sqlite3_reset(handle_);
      throw;
    }
  }
  sqlite3_reset(handle_);
  return false;
}

bool statement::null(int column) const noexcept {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::int64_t statement::integer(int column) const noexcept {
  return sqlite3_column_int64(handle_, column);
}

std::string_view statement::bytes(int column) const noexcept {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

void statement::check(int result) const {
  if (result != SQLITE_OK) db_.fail(result);
}

}  // namespace conclave::server_impl
