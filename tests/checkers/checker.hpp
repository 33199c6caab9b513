// Checks the rules of a history, independently of its source: the simulator, or processes that
// recorded their actions. Events must be passed to a checker in the order of time.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace conclave::checkers {

// Called for each violation, during the event that reveals it.
using violation_callback = std::function<void(const std::string& what)>;

class checker {
 public:
  explicit checker(violation_callback l) : on_violation_{std::move(l)} {}

 protected:
  void report_violation(const std::string& what) const { on_violation_(what); }

 private:
  violation_callback on_violation_;
};

}  // namespace conclave::checkers
