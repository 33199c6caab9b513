// A context owns the I/O thread, which reads replies and runs callbacks for any number of clients.
//
// Clients can share one context. A client that is created without a context has its own. Clients of
// one context also share a receive buffer. Clients keep the I/O thread alive, so contexts and
// clients may be destroyed in any order.
//
// Watchers, session listeners and completion handlers without an associated executor run on the I/O
// thread. They must not block. An exception that escapes from one of them terminates the program.
//
// After fork(), the child process has no I/O thread. Contexts and clients of the parent then fail
// every operation with errc::forked, and their destructors do not affect the parent's sessions. If
// a handler calls fork() on the I/O thread, the child must not return from the handler. Returning
// from the handler terminates the child.
#pragma once

#include <memory>

namespace conclave {

namespace runtime {
class io_thread;
}

class context {
 public:
  context();

 private:
  friend class client;
  std::shared_ptr<runtime::io_thread> thread_;
};

}  // namespace conclave
