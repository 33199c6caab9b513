#include "fit.hpp"

#include <cmath>

namespace conclave::bench {

std::optional<double> growth_exponent(std::span<const cost_at> steps, double least_cost) {
  double count = 0;
  double sum_x = 0;
  double sum_y = 0;
  double sum_xx = 0;
  double sum_xy = 0;
  for (const auto& step : steps) {
    if (step.cost <= 0 || step.cost < least_cost) continue;
    const double x = std::log(step.n);
    const double y = std::log(step.cost);
    ++count;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double variance = count * sum_xx - sum_x * sum_x;
  if (count < 2 || variance <= 0) return std::nullopt;
  return (count * sum_xy - sum_x * sum_y) / variance;
}

}  // namespace conclave::bench
