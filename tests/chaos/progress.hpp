// How far a run is: a line that changes on a terminal, a line every ten seconds elsewhere.
#pragma once

#include <cstddef>
#include <string>

#include "chaos/history.hpp"
#include "chaos/live.hpp"

namespace conclave::chaos {

class progress {
 public:
  progress();
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  // To be called often; it says something when it is time to.
  void show(nanoseconds left, const live& seen, std::size_t faults, std::size_t hits,
            std::size_t violations);
  // A line of its own.
  void say(const std::string& text);

 private:
  void clear();
  bool terminal_;
  bool shown_ = false;
  nanoseconds next_ = 0;
};

}  // namespace conclave::chaos
