#pragma once

#include <vector>

#include "driver/report.hpp"

namespace conclave::bench {

// Returns the plots lock-rates, lock-kept and lock-waiters.
std::vector<plot> lock_plots(const results& found);

}  // namespace conclave::bench
