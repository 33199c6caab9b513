#include "history.hpp"

#include <algorithm>
#include <stdexcept>

#include "harness/spread.hpp"

namespace conclave::bench {
namespace {

bool within(const cycle& c, const time_span& counted) {
  return c.acquired >= counted.from && c.acquired < counted.until;
}

double us(std::int64_t from, std::int64_t until) { return static_cast<double>(until - from) / 1e3; }

figures summary(std::size_t count, std::vector<double> latencies, const time_span& counted) {
  if (count == 0) throw std::runtime_error("nobody got the lock within the measured time");
  const auto operations = static_cast<double>(count);
  const double wall = us(counted.from, counted.until);
  std::sort(latencies.begin(), latencies.end());
  return {{figure::operations, operations},
          {figure::operations_per_second, operations * 1e6 / wall},
          {figure::us_per_operation, wall / operations},
          {figure::latency_us, quantile(latencies, 0.5)},
          {figure::latency_p90_us, quantile(latencies, 0.9)},
          {figure::latency_p99_us, quantile(latencies, 0.99)}};
}

void check_exclusion(const cycle& before, const cycle& after) {
  if (after.acquired < before.unlock_called)
    throw std::runtime_error("contenders " + std::to_string(before.contender) + " and " +
                             std::to_string(after.contender) + " held the lock at the same time");
}

}  // namespace

figures cycle_figures(const std::vector<cycle>& all, const time_span& counted) {
  std::vector<double> whole;
  std::vector<double> locking;
  for (const auto& c : all) {
    if (!within(c, counted)) continue;
    whole.push_back(us(c.lock_called, c.released));
    locking.push_back(us(c.lock_called, c.acquired));
  }
  auto result = summary(whole.size(), whole, counted);
  std::sort(locking.begin(), locking.end());
  result[figure::lock_us] = quantile(locking, 0.5);
  return result;
}

figures hand_off_figures(std::vector<cycle> all, const time_span& counted) {
  std::sort(all.begin(), all.end(),
            [](const cycle& a, const cycle& b) { return a.acquired < b.acquired; });
  std::size_t count = 0;
  std::vector<double> latencies;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const auto& before = all[i - 1];
    const auto& after = all[i];
    check_exclusion(before, after);
    if (!within(after, counted) || before.contender == after.contender) continue;
    ++count;
    if (after.lock_called < before.unlock_called)
      latencies.push_back(us(before.unlock_called, after.acquired));
  }
  return summary(count, std::move(latencies), counted);
}

}  // namespace conclave::bench
