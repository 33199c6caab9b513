// One lock object of a program: its callers take turns here, and one contender at a time stands in
// the line at the server for them.
//
// All members are called inside a port::entry.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "conclave/lock_options.hpp"
#include "recipes/contender.hpp"
#include "recipes/hold_state.hpp"

namespace conclave::recipes {

class lock_object : public std::enable_shared_from_this<lock_object> {
 public:
  lock_object(std::shared_ptr<port> p, std::vector<std::string> paths, layout::role role,
              const lock_options& options);

  // Somebody who wants the lock. Told once, outside of the entry: no error means it is held.
  struct caller {
    std::function<void(error_code)> tell;
    bool patient = true;
  };
  using caller_ptr = std::shared_ptr<caller>;

  void acquire(const caller_ptr& who);
  // It does not want the lock any more, and is told why, unless it was told something already.
  void give_up(const caller_ptr& who, error_code why);

  // Nothing if it is not held. `confirmed`, if any, is called outside of the entry when the server
  // knows, or the session is over.
  void release(std::function<void()> confirmed = {});

  // Releases it, and tells everybody who waits for it.
  void close(error_code why);

  const std::shared_ptr<hold_state>& hold() const noexcept { return hold_; }

 private:
  class attempt;
  void begin(const caller_ptr& who);
  void next();
  void answer(const caller_ptr& who, error_code ec);

  std::shared_ptr<port> port_;
  terms terms_;
  lock_options options_;
  std::string seen_holder_;  // when somebody who would not wait last looked
  std::deque<caller_ptr> waiting_;
  caller_ptr at_server_;              // whose contender is under way, not granted yet
  std::shared_ptr<attempt> attempt_;  // under way or holding
  std::shared_ptr<hold_state> hold_;  // the present or last one
};

}  // namespace conclave::recipes
