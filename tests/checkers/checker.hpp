// What must hold of a history, judged apart from whatever made it: a simulated world, or processes
// that wrote down what they did. A checker is told what happens in the order of time.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace conclave::checkers {

// Who hears what is wrong, at the event that shows it.
using listener = std::function<void(const std::string& what)>;

class checker {
 public:
  explicit checker(listener l) : listener_{std::move(l)} {}

 protected:
  void complain(const std::string& what) const { listener_(what); }

 private:
  listener listener_;
};

}  // namespace conclave::checkers
