// A named pipe that other processes write lines to.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace conclave::testing {

class line_pipe {
 public:
  explicit line_pipe(const std::filesystem::path& file);
  ~line_pipe();
  line_pipe(const line_pipe&) = delete;
  line_pipe& operator=(const line_pipe&) = delete;

  // Returns the next line without its newline, or nothing on a timeout.
  std::optional<std::string> next(std::chrono::nanoseconds limit);

 private:
  int fd_;  // open for reading and writing, so that reading does not reach the end of the file
  std::string unread_;
};

}  // namespace conclave::testing
