// The middle of a few measurements, and how far they lie apart.
#pragma once

#include <span>
#include <vector>

namespace conclave::bench {

// Of values in ascending order, interpolated; 0 if there are none.
double quantile(std::span<const double> sorted, double q);

struct spread {
  double median{0};
  double smallest{0};
  double largest{0};
  double lower_quartile{0};
  double upper_quartile{0};
};
spread spread_of(std::vector<double> values);

}  // namespace conclave::bench
