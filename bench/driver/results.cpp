#include "driver/results.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

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

spread series::of(const std::string& variant, const std::string& figure) const {
  std::vector<double> values;
  for (const auto& round : rounds.at(variant)) values.push_back(round.at(figure));
  return spread_of(std::move(values));
}

double series::ratio(const std::string& figure, const std::string& ours,
                     const std::string& theirs) const {
  return of(ours, figure).median / of(theirs, figure).median;
}

const series* results::find(const std::string& series_name) const {
  for (const auto& s : all)
    if (s.name == series_name) return &s;
  return nullptr;
}

std::optional<double> results::median(const std::string& series_name, const std::string& variant,
                                      const std::string& figure) const {
  const auto* s = find(series_name);
  if (!s || !s->has(variant)) return std::nullopt;
  return s->of(variant, figure).median;
}

std::optional<double> results::ratio(const std::string& series_name, const std::string& figure,
                                     const std::string& ours, const std::string& theirs) const {
  const auto mine = median(series_name, ours, figure);
  const auto other = median(series_name, theirs, figure);
  if (!mine || !other) return std::nullopt;
  return *mine / *other;
}

}  // namespace conclave::bench
