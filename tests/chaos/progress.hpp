// Prints the progress: a status line on a terminal, otherwise one line every ten seconds.
#pragma once

#include <cstddef>
#include <string>

#include "chaos/history.hpp"
#include "chaos/run_status.hpp"

namespace conclave::chaos {

class progress {
 public:
  progress();
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  // Call often. Prints only when an update is due.
  void show(nanoseconds left, const run_status& status, std::size_t faults, std::size_t hits,
            std::size_t violations);
  // Prints a separate line.
  void print(const std::string& text);

 private:
  void clear();
  bool terminal_;
  bool shown_ = false;
  nanoseconds next_ = 0;
};

}  // namespace conclave::chaos
