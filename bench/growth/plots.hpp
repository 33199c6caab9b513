#pragma once

#include <vector>

#include "driver/report.hpp"
#include "driver/results.hpp"
#include "growth_series.hpp"

namespace conclave::bench {

// One figure with a panel for each series: the cost of one of n things, which is level if the total
// cost is proportional to n.
std::vector<plot> growth_plots(const results& found, const std::vector<growth_series>& all);

}  // namespace conclave::bench
