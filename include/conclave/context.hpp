// The thread that reads for clients.
//
// One context serves any number of clients with one thread and no buffers per idle client. A client
// made without one has its own. Clients keep the context's thread alive, so the order of
// destruction does not matter.
//
// Completion handlers without an executor of their own, watchers and session listeners run on this
// thread: they must not block, and an exception that leaves one ends the program.
//
// After fork() the child has no such thread: there, contexts and clients of the parent refuse
// every operation (errc::forked) and their destructors leave the parent's sessions alone. A child
// forked on this very thread, by a handler, must not return from that handler: it is ended there.
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
