// The locks that the `conclave lock` processes among our ancestors hold for this command. The
// waiter's node lists them, so that a deadlock between nested commands can be detected.
//
// CONCLAVE_TASK contains the process id and the start time of the `conclave lock` process that set
// it, and the ids of the locks (hold::id()). If that process is our parent, we are the command that
// it runs, and it holds the lock until we end. Otherwise there are other processes in between, such
// as a shell. They may end before this process, so the locks are only possibly held.
#pragma once

#include <string>
#include <utility>

#include "conclave/hold.hpp"
#include "conclave/task_holds.hpp"

namespace conclave::cli {

class inherited_task {
 public:
  static inherited_task from_environment();

  const task_holds& holds() const noexcept { return holds_; }

  // Returns the variable CONCLAVE_TASK for a command that runs under these locks and `another`.
  std::pair<std::string, std::string> with(const hold& another) const;

 private:
  task_holds holds_;
};

}  // namespace conclave::cli
