// One SQLite connection and its statements, with exceptions for return codes. sqlite3.h stays out
// of the other headers.
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

// What SQLite said; the store makes of it a message for the operator.
struct database_error : std::runtime_error {
  database_error(const std::string& what, int result_code, int system_code);

  bool is_disk_full() const noexcept;  // nothing was written, and it may work again
  bool is_corrupt() const noexcept;    // what the file holds is wrong
  bool is_busy() const noexcept;       // another program has the file open

  int result;  // SQLite's extended code
  int system;  // errno, or zero
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

  // Copies what stands in the write-ahead log to where it belongs, so that the log can be used
  // anew.
  void checkpoint();
  std::int64_t wal_pages() const noexcept { return wal_pages_; }  // after the last commit
  // Makes the log's file this long. Commits that do not change a file's length sync faster.
  void preallocate_wal(std::int64_t bytes);
  // If not, closing leaves the log as it is for the next one who opens the file.
  void checkpoint_on_close(bool on) noexcept;

  [[noreturn]] void fail(int result) const;
  sqlite3* handle() const noexcept { return handle_; }

 private:
  int system_error() const noexcept;
  sqlite3_file* wal_file() const noexcept;

  sqlite3* handle_ = nullptr;
  std::int64_t wal_pages_ = 0;
};

struct blob {
  std::string_view bytes;
  bool null = false;
};

// Prepared once, run often. Text is bound as it is and must live until run() returns.
class statement {
 public:
  statement(database& db, std::string_view sql);
  ~statement();
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;

  // Binds the values, in order, and runs it to its end.
  template <class... T>
  void run(const T&... values) {
    int position = 0;
    (bind(++position, values), ...);
    run_to_end();
  }

  bool next();  // to the next row; at the end false, and ready to begin again
  bool null(int column) const noexcept;
  std::int64_t integer(int column) const noexcept;
  std::string_view bytes(int column) const noexcept;  // of text or a blob, until next()

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
