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

  // The next line, without its end; nothing if none came in time.
  std::optional<std::string> next(std::chrono::nanoseconds limit);

 private:
  int fd_;  // open for both directions, so that it has no end while we read it
  std::string unread_;
};

}  // namespace conclave::testing
