// Runs SQL on the file of a stopped store, to inspect or change it.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace conclave::testing {

using sql_handle = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

inline sql_handle open_sql(const std::filesystem::path& file, const char* vfs = nullptr) {
  sqlite3* db = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  EXPECT_EQ(sqlite3_open_v2(file.c_str(), &db, flags, vfs), SQLITE_OK);
  // The faulty disk has no shared memory.
  if (vfs != nullptr)
    sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", nullptr, nullptr, nullptr);
  return {db, sqlite3_close};
}

// Returns the last value, if any.
inline std::string sql(sqlite3* db, const std::string& text) {
  std::string out;
  char* error = nullptr;
  sqlite3_exec(
      db, text.c_str(),
      [](void* to, int, char** values, char**) {
        *static_cast<std::string*>(to) = values[0] != nullptr ? values[0] : "";
        return 0;
      },
      &out, &error);
  EXPECT_EQ(error, nullptr) << text << ": " << error;
  sqlite3_free(error);
  return out;
}

inline std::string sql(const std::filesystem::path& file, const std::string& text) {
  return sql(open_sql(file).get(), text);
}

}  // namespace conclave::testing
