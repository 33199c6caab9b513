// A fresh folder under $TMPDIR (or /tmp) that is removed, with all it holds, on destruction.
// Removal is best effort: a file that cannot be removed never makes a test fail.
#pragma once

#include <filesystem>

namespace conclave::testing {

class temporary_directory {
 public:
  temporary_directory();
  ~temporary_directory();
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace conclave::testing
