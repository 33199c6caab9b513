#include "spread.hpp"

#include <algorithm>
#include <cstddef>

namespace conclave::bench {

double quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) return 0;
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0), quantile(values, 1), quantile(values, 0.25),
          quantile(values, 0.75)};
}

}  // namespace conclave::bench
