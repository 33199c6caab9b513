#include "workload.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "harness/spread.hpp"
#include "harness/stopwatch.hpp"

namespace conclave::bench {
namespace {

constexpr std::array<std::pair<kind, std::string_view>, 3> names{{
    {kind::creates, "creates"},
    {kind::gets, "gets"},
    {kind::blocking_gets, "blocking-gets"},
}};

figures figures_of(const stopwatch& watch, std::size_t operations) {
  const auto n = static_cast<double>(operations);
  const double wall = watch.wall_us();
  const double user = watch.user_us();
  const double system = watch.system_us();
  return {{figure::operations_per_second, n * 1e6 / wall},
          {figure::cpu_us_per_operation, (user + system) / n},
          {figure::user_us_per_operation, user / n},
          {figure::system_us_per_operation, system / n},
          {figure::switches_per_operation, watch.switches() / n}};
}

std::vector<std::string> child_paths(const std::string& parent, char prefix, std::size_t count) {
  std::vector<std::string> paths;
  paths.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    paths.push_back(parent + '/' + prefix + std::to_string(i));
  return paths;
}

figures run_creates(contestant& who, const round_plan& plan) {
  const auto data = node_data();
  who.create(plan.parent, data);
  who.create_all(child_paths(plan.parent, 'w', plan.warm_up), data, plan.window);
  const auto paths = child_paths(plan.parent, 'n', plan.operations);
  const stopwatch watch;
  who.create_all(paths, data, plan.window);
  return figures_of(watch, plan.operations);
}

figures run_gets(contestant& who, const round_plan& plan) {
  who.get_all(node_path, plan.warm_up, plan.window);
  const stopwatch watch;
  who.get_all(node_path, plan.operations, plan.window);
  return figures_of(watch, plan.operations);
}

figures run_blocking_gets(contestant& who, const round_plan& plan) {
  using clock = std::chrono::steady_clock;
  const auto give_up = clock::now() + time_limit;
  for (std::size_t i = 0; i < plan.warm_up; ++i) who.get(node_path);
  std::vector<double> latencies;
  latencies.reserve(plan.operations);
  const stopwatch watch;
  for (auto before = clock::now(); latencies.size() < plan.operations;) {
    who.get(node_path);
    const auto after = clock::now();
    latencies.push_back(std::chrono::duration<double, std::micro>(after - before).count());
    if (after > give_up) throw std::runtime_error("blocking gets did not end in time");
    before = after;
  }
  auto result = figures_of(watch, plan.operations);
  std::sort(latencies.begin(), latencies.end());
  result[figure::latency_us] = quantile(latencies, 0.5);
  result[figure::latency_p99_us] = quantile(latencies, 0.99);
  return result;
}

}  // namespace

std::string_view name_of(kind k) { return names.at(static_cast<std::size_t>(k)).second; }

kind kind_named(std::string_view name) {
  for (const auto& [k, text] : names)
    if (text == name) return k;
  throw std::runtime_error("no workload '" + std::string(name) + "'");
}

std::string node_data() { return std::string(data_size, 'x'); }

figures run_round(contestant& who, const round_plan& plan) {
  switch (plan.what) {
    case kind::creates: return run_creates(who, plan);
    case kind::gets: return run_gets(who, plan);
    case kind::blocking_gets: return run_blocking_gets(who, plan);
  }
  throw std::logic_error("run_round");
}

}  // namespace conclave::bench
