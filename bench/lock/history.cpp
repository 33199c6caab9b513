#include "history.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace conclave::bench {
namespace {

bool within(const lock_cycle& c, const time_span& counted) {
  return c.acquired >= counted.from && c.acquired < counted.until;
}

double us(std::int64_t from, std::int64_t until) { return static_cast<double>(until - from) / 1e3; }

figures summary(std::size_t count, std::vector<double> latencies, const time_span& counted) {
  if (count == 0)
    throw std::runtime_error("no contender acquired the lock within the measured time");
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

void check_exclusion(const lock_cycle& before, const lock_cycle& after) {
  if (after.acquired < before.unlock_called)
    throw std::runtime_error("contenders " + std::to_string(before.contender) + " and " +
                             std::to_string(after.contender) + " held the lock at the same time");
}

}  // namespace

void write_cycles(const std::filesystem::path& file, const std::vector<lock_cycle>& cycles) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(cycles.data()),
            static_cast<std::streamsize>(cycles.size() * sizeof(lock_cycle)));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

std::vector<lock_cycle> read_cycles(const std::filesystem::path& file) {
  const auto size = std::filesystem::file_size(file);
  if (size % sizeof(lock_cycle) != 0)
    throw std::runtime_error("incomplete cycle in " + file.string());
  std::vector<lock_cycle> cycles(size / sizeof(lock_cycle));
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(cycles.data()), static_cast<std::streamsize>(size));
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return cycles;
}

figures cycle_figures(const std::vector<lock_cycle>& all, const time_span& counted) {
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

figures hand_off_figures(std::vector<lock_cycle> all, const time_span& counted) {
  std::sort(all.begin(), all.end(),
            [](const lock_cycle& a, const lock_cycle& b) { return a.acquired < b.acquired; });
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
