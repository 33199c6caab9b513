// An SQLite connection and its statements, with exceptions instead of return codes. Keeps sqlite3.h
// out of the other headers.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_file;
struct sqlite3_stmt;

namespace conclave::server_impl {

// An SQLite error. store_files turns it into a message for the operator.
struct database_error : std::runtime_error {
  database_error(const std::string& what, int result_code, int system_code);

  bool is_disk_full() const noexcept;  // nothing was written; a later attempt may succeed
  bool is_corrupt() const noexcept;    // the content of the file is not valid
  bool is_busy() const noexcept;       // another program has the file open

  int result;  // extended result code of SQLite
  int system;  // errno, or 0
};

class database {
 public:
  database(const std::string& file, const char* vfs);
  ~database();
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  void run(const std::string& sql);                         // any number of statements
  std::optional<std::string> text(const std::string& sql);  // the first column of the first row
  std::optional<std::int64_t> integer(const std::string& sql);

  bool read_only() const noexcept;
  bool in_transaction() const noexcept;
  void rollback() noexcept;

  // Copies the content of the write-ahead log (WAL) to the main file, so that the WAL can be
  // reused.
  void checkpoint();
  std::int64_t wal_pages() const noexcept { return wal_pages_; }  // after the last commit
  // Extends the WAL file to this size, because commits that do not change the file size sync
  // faster.
  void preallocate_wal(std::int64_t bytes);
  std::int64_t wal_size() const;  // of the file, in bytes
  // Copies the content of the WAL like checkpoint(), and makes the WAL file empty.
  void truncate_wal();
  void release_memory() noexcept;  // empties the page cache
  // Sets whether closing the database copies the WAL to the main file and removes the WAL. If `on`
  // is false, the WAL is left for the next process that opens the file.
  void checkpoint_on_close(bool on) noexcept;

  [[noreturn]] void fail(int result) const;
  sqlite3* handle() const noexcept { return handle_; }

 private:
  int system_error() const noexcept;
  void checkpoint(int mode);
  sqlite3_file* wal_file() const noexcept;

  sqlite3* handle_ = nullptr;
  std::int64_t wal_pages_ = 0;
};

struct blob {
  std::string_view bytes;
  bool null = false;
};

// A prepared statement. Bound text is not copied and must stay valid until run() returns.
class statement {
 public:
  statement(database& db, std::string_view sql);
  ~statement();
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;

  // Binds the values in order and runs the statement to its end.
  template <class... T>
  void run(const T&... values) {
    int position = 0;
    (bind(++position, values), ...);
    run_to_end();
  }

  bool next();  // false after the last row; after that the statement can run again
  bool null(int column) const noexcept;
  std::int64_t integer(int column) const noexcept;
  std::string_view bytes(int column) const noexcept;  // of text or a blob; valid until next()

 private:
  void bind(int position, std::int64_t value);
  void bind(int position, std::string_view text);
  void bind(int position, blob value);
  void run_to_end();
  void check(int result) const;

  database& db_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace conclave::server_impl
