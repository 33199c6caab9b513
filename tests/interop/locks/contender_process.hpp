// A process that contends for a lock with some library; lock_contender.cpp tells how they are
// called and what they report.
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

// That of the library, if it is not ours.
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

  // Waits for the next acquisition that was not reported yet, and tells its time.
  std::optional<std::int64_t> acquired(std::chrono::nanoseconds limit = patience);

  // Whether it reported something that was not taken yet.
  bool reported();

  // As kill -9; tells the time before.
  std::int64_t kill();

  // Waits for the process, which must end by itself and well, and tells what it did.
  held_history finish();

 private:
  std::optional<std::string> next_line(std::chrono::nanoseconds limit);
  bool read_more(std::chrono::nanoseconds limit);
  void note(const std::string& line);
  std::string output() const;

  library library_;
  temporary_directory folder_;
  int pipe_;            // its history. Large enough for thousands of lines, so nobody waits for us
  std::string unread_;  // of the pipe
  held_history history_;
  std::vector<std::size_t> open_;  // for each contender in it, its last hold in the history
  std::optional<child_process> process_;
};

}  // namespace conclave::testing
