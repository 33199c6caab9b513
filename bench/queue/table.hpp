// The results, for a person.
#pragma once

#include "series.hpp"

namespace conclave::bench {

// Items a second, and the time for each item by the length of the queue.
void print_results(const results& found);

}  // namespace conclave::bench
