// Passes the deadline of a hold on, again and again.
//
// Each reply from the server makes the deadline later. A timer on the client's I/O thread reads the
// deadline at least once per second, and 30 times per session timeout. So the passed deadline is
// at most that old, whatever the program's loop does.
#pragma once

#include <functional>
#include <memory>

#include "conclave/boot_clock.hpp"
#include "conclave/client.hpp"
#include "conclave/hold.hpp"

namespace conclave::cli {

// Returns a time at which the hold is certainly held, unless its node is deleted before. The time
// has passed if the hold is lost. If the open connection keeps the hold, it has no deadline. This
// process may then be stopped while the server is restarted, so the time is that of a hold whose
// last reply has just arrived.
boot_clock::time_point certain_until(const hold& held, const client& zk);

class deadline_renewal {
 public:
  // Calls `pass_on` on the client's I/O thread. `zk` must outlive this object.
  deadline_renewal(const client& zk, hold held,
                   std::function<void(boot_clock::time_point)> pass_on);
  // When the destructor has returned, `pass_on` is not called any more.
  ~deadline_renewal();
  deadline_renewal(const deadline_renewal&) = delete;
  deadline_renewal& operator=(const deadline_renewal&) = delete;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace conclave::cli
