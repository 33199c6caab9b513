// How a cost grows with n: the exponent of a power law.
#pragma once

#include <optional>
#include <span>

namespace conclave::bench {

struct cost_at {
  double n;
  double cost;
};

// The exponent of the least-squares fit of cost = c * n^exponent, on logarithmic scales. Uses the
// steps that cost at least `least_cost`, and is empty if there are fewer than two of them.
std::optional<double> growth_exponent(std::span<const cost_at> steps, double least_cost);

}  // namespace conclave::bench
