// Requests asked for while this lives leave in one write.
#pragma once

#include "recipes/port.hpp"

namespace conclave::recipes {

class [[nodiscard]] together {
 public:
  explicit together(port& p) : port_{p} { port_.cork(); }
  ~together() { port_.uncork(); }
  together(const together&) = delete;
  together& operator=(const together&) = delete;

 private:
  port& port_;
};

}  // namespace conclave::recipes
