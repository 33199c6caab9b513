// The results, for a person.
#pragma once

#include "series.hpp"

namespace conclave::bench {

// A table for each series, and for the lines of waiters one for each cost, by length.
void print_results(const results& found);

}  // namespace conclave::bench
