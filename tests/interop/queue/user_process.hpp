// A process that uses a queue with one of the libraries. queue_user.cpp describes the command line
// and the history.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "conclave/queue_options.hpp"
#include "integration/harness.hpp"
#include "line_pipe.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {

// Recipes of other libraries that conclave can share a queue with.
enum class recipe { zookeeper, curator, kazoo, kazoo_locking };

const char* name_of(recipe r);
queue_layout layout_of(recipe r);
// The path of a queue's items.
std::string items_path(recipe r, const std::string& path);

enum class side { ours, theirs };

struct usage {
  recipe shared_with{};
  std::string path;
  std::string roles;
  int pace_ms{0};
  std::chrono::milliseconds session_timeout{20'000};
};

struct queue_history {
  std::vector<std::string> pushed;
  std::vector<std::string> claimed;
  std::vector<std::string> popped;  // without `end` items
  std::vector<std::string> released;

  void add(const queue_history& other);
};

// The constructor returns when the process is connected. The process then waits for open_gate().
class user_process {
 public:
  user_process(side s, const usage& u);
  ~user_process();
  user_process(const user_process&) = delete;
  user_process& operator=(const user_process&) = delete;

  void open_gate();

  // Reads the history until a line of this kind: pushed, claimed, popped or gave-back. Returns the
  // item.
  std::optional<std::string> next(const std::string& what,
                                  std::chrono::nanoseconds limit = wait_limit);
  // Returns the whole history until now.
  const queue_history& reported();

  void kill();  // SIGKILL

  // Waits for the process, which must exit with 0, and returns its history.
  const queue_history& finish();

 private:
  void note(const std::string& what, const std::string& item);
  std::string output() const;

  std::string name_;
  temporary_directory folder_;
  line_pipe lines_;
  int gate_;
  queue_history history_;
  std::optional<child_process> process_;
};

}  // namespace conclave::testing
