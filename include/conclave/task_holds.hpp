// The locks that a task holds while it waits for another lock. A task is a thread that makes
// blocking calls, or a sequence of asynchronous calls that the program defines.
//
// A waiter writes this information into the data of its node, so that a tool which sees only the
// nodes can detect deadlocks (wait_graph.hpp). Writing it costs no request.
//
// For blocking calls, the library knows the locks that the calling thread has acquired. For
// asynchronous calls, the program can state them with lock_options::held_while_waiting.
#pragma once

#include <string>
#include <vector>

namespace conclave {

struct task_holds {
  // The hold::id() values of the locks that the task holds. The task does not release them before
  // the wait ends. List a lock here only if this is certain.
  std::vector<std::string> certain;
  // The hold::id() values of the locks that the task may hold.
  std::vector<std::string> possible;
  // If true, the task may also hold any other lock of the same session.
  bool may_hold_others = true;
};

}  // namespace conclave
