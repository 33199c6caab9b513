// A process that contends for a lock with one of the libraries. lock_contender.cpp describes the
// command line and the history.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conclave/layout.hpp"
#include "history.hpp"
#include "integration/harness.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {

enum class library { conclave, curator, zookeeper, kazoo };

const char* name_of(library l);

// The layout of another library.
layout layout_of(library l);

struct contest {
  std::string path;
  std::string layout_name;
  std::string kinds = "mutex";
  int cycles = 1;
  std::string hold = "0";  // milliseconds at most, or "forever"
  std::chrono::milliseconds session_timeout = 20s;
  std::filesystem::path counter;
};

class contender_process {
 public:
  contender_process(library l, const contest& c);
  ~contender_process();
  contender_process(const contender_process&) = delete;
  contender_process& operator=(const contender_process&) = delete;

  // Waits for the next acquisition and returns its time.
  std::optional<std::int64_t> acquired(std::chrono::nanoseconds limit = wait_limit);

  // Returns whether there is an unread report.
  bool reported();

  // Sends SIGKILL. Returns the time before.
  std::int64_t kill();

  // Waits for the process, which must exit with 0, and returns its history.
  held_history finish();

 private:
  std::optional<std::string> next_line(std::chrono::nanoseconds limit);
  bool read_more(std::chrono::nanoseconds limit);
  void note(const std::string& line);
  std::string output() const;

  library library_;
  temporary_directory folder_;
  int pipe_;  // its history; large enough for thousands of lines, so the process does not block
  std::string unread_;  // bytes of the pipe
  held_history history_;
  std::vector<std::size_t> open_;  // for each contender in the process, the index of its last hold
  std::optional<child_process> process_;
};

}  // namespace conclave::testing
