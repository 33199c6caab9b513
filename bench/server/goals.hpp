// What the server is meant to reach, and whether it did.
#pragma once

#include <string>
#include <vector>

#include "harness/goal.hpp"
#include "series.hpp"

namespace conclave::bench {

// Of the series that were measured.
std::vector<goal> judge(const std::vector<series>& all);

// Further ratios, by name.
std::vector<std::pair<std::string, double>> notes_on(const std::vector<series>& all);

}  // namespace conclave::bench
