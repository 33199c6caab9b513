// What the queue is meant to reach, and whether it did.
#pragma once

#include <vector>

#include "harness/goal.hpp"
#include "series.hpp"

namespace conclave::bench {

// Of the series that were measured.
std::vector<goal> judge(const results& found);

// Further ratios, by name.
figures notes_on(const results& found);

}  // namespace conclave::bench
