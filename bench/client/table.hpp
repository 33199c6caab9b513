// The results, for a person.
#pragma once

#include <vector>

#include "deep.hpp"
#include "environment.hpp"
#include "series.hpp"

namespace conclave::bench {

void print_environment(const environment& where);
void print_series(const series& s);
void print_deep(const std::vector<deep_cost>& costs);

}  // namespace conclave::bench
