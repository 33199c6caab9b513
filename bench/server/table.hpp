// The results, for a person.
#pragma once

#include "series.hpp"

namespace conclave::bench {

void print_series(const series& s);

}  // namespace conclave::bench
