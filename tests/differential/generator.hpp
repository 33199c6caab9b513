// Random steps. The seed determines the steps. A smaller number of steps gives a prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "differential/operation.hpp"

namespace conclave::differential {

struct plan {
  std::uint64_t seed = 1;
  std::size_t steps = 1000;
  std::size_t slots = 4;
  bool with_restarts = false;  // of both servers, every few thousand steps
};

std::vector<step> steps_of(const plan& p);

}  // namespace conclave::differential
