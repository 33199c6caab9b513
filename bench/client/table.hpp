// The results, for a person.
#pragma once

#include <vector>

#include "deep.hpp"
#include "series.hpp"

namespace conclave::bench {

void print_series(const series& s);
void print_deep(const std::vector<deep_cost>& costs);

}  // namespace conclave::bench
