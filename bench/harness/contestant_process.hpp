// A contestant: a process that is told what to do and answers; see contestant.hpp.
//
// It is started once and stays for the whole benchmark, so that Java's compilers have done their
// work when it counts.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "harness/affinity.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::bench {

class contestant_process {
 public:
  // With a core, it and all its threads stay on that one.
  contestant_process(const std::vector<std::string>& command, std::optional<int> cpu);
  ~contestant_process();
  contestant_process(const contestant_process&) = delete;
  contestant_process& operator=(const contestant_process&) = delete;

  void tell(const std::string& line);
  // The next line of its output. Throws std::runtime_error, with what it complained of, if it has
  // ended or says nothing in time.
  std::string answer(std::chrono::seconds limit);
  // The same, of a line that has to begin so.
  std::string answer(const std::string& expected, std::chrono::seconds limit);

 private:
  [[noreturn]] void fail(const std::string& what);

  testing::temporary_directory folder_;
  int to_{-1};
  int from_{-1};
  std::string unread_;
  std::optional<testing::child_process> process_;
  std::optional<pinned_process> pin_;
};

}  // namespace conclave::bench
