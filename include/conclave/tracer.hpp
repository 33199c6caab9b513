// A hook that receives the begin and the end of every acquisition and every hold of a lock, for
// example to make spans of OpenTelemetry (client_options::tracer). It covers all locks, semaphores
// and elections of a client, but not the claims of queues.
//
//   struct spans : conclave::acquisition_tracer {
//     void end_acquire(conclave::acquire_outcome o, const conclave::error_code&) override;
//     void begin_hold(const conclave::hold& h) override;
//     void end_hold(const conclave::error_code& why_lost) override;
//   };
//   struct my_tracer : conclave::tracer {
//     std::unique_ptr<conclave::acquisition_tracer> begin_acquire(
//         const conclave::lock_call& call) override;
//   };
//
// Order, for each call that acquires a lock:
//
//   begin_acquire --> end_acquire(acquired) --> begin_hold --> end_hold --> destruction
//                 \-> end_acquire(any other outcome) --> destruction
//
// Threads: begin_acquire() runs on the thread that makes the call, before anything is sent. So a
// tracer can use the current span of that thread as the parent. The other functions run on the I/O
// thread or on a thread that calls this library. The functions of one acquisition_tracer never run
// at the same time, and the library holds no mutex while it calls them. end_acquire() and
// begin_hold() run before the call completes. end_hold() can run after unlock() has returned. All
// functions must return soon, because they delay lock calls. They must not make blocking calls to
// the library.
//
// Exceptions of these functions are ignored. If begin_acquire() throws or returns null, the
// acquisition is not traced.
//
// With a tracer, every acquisition of a kept lock passes through the mutex of the session (see
// docs/kept-locks.md), because each one has a hold of its own.
#pragma once

#include <memory>
#include <string>

#include "conclave/error.hpp"
#include "conclave/hold.hpp"
#include "conclave/layout.hpp"
#include "conclave/metrics.hpp"

namespace conclave {

struct lock_call {
  lock_kind kind{};
  layout::role role{};
  std::string path;   // as given to the lock object; several paths are separated by ", "
  bool waits = true;  // false for try_lock() and similar calls
};

// One acquisition. The functions do nothing by default.
class acquisition_tracer {
 public:
  virtual ~acquisition_tracer() = default;

  // The error is empty unless the outcome is acquire_outcome::failed.
  virtual void end_acquire(acquire_outcome outcome, const error_code& why);
  virtual void begin_hold(const hold& h);
  // `why_lost` is hold::why_lost(). It is empty if the lock was released.
  virtual void end_hold(const error_code& why_lost);
};

class tracer {
 public:
  virtual ~tracer() = default;
  virtual std::unique_ptr<acquisition_tracer> begin_acquire(const lock_call& call) = 0;
};

}  // namespace conclave
