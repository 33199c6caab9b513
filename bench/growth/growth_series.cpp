#include "growth_series.hpp"

#include <map>

#include "step_figures.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

const std::vector<std::size_t> usual_steps{100, 1'000, 10'000, 100'000};

// A process has at most as many sessions as descriptors. A request of 100,000 paths is too large
// for every server, and shows the error.
const std::map<std::string, std::vector<std::size_t>> other_steps{
    {"multi-paths", {100, 1'000, 5'000, 100'000}},
    {"queue-items", {100, 1'000, 10'000, 25'000, 100'000, 1'000'000}},
    {"queue-items-4", {100, 1'000, 10'000, 25'000, 100'000, 1'000'000}},
    {"consumers", {100, 1'000, 2'000, 10'000}},
    {"idle-consumers", {100, 1'000, 3'000, 10'000}},
    {"sessions", {100, 1'000, 10'000}},
    {"nodes", {100, 1'000, 10'000, 100'000, 1'000'000}},
};

}  // namespace

std::vector<growth_series> all_growth_series() {
  std::vector<growth_series> all;
  for (const auto& w : all_workloads()) {
    const auto other = other_steps.find(w.name);
    const std::string name = w.name;
    const bool has_fixed_duration = name == "idle-consumers" || name == "long-holds";
    all.push_back({name, w.title, other == other_steps.end() ? usual_steps : other->second,
                   !has_fixed_duration, name != "long-holds"});
  }
  return all;
}

std::vector<cost_at> costs(const results& found, const growth_series& s, const std::string& variant,
                           const char* figure) {
  std::vector<cost_at> all;
  for (const auto n : s.steps) {
    const auto* step = found.find(s.step_name(n));
    if (!step || !step->has(variant)) continue;
    if (!step->rounds.at(variant).front().contains(figure)) continue;
    all.push_back({static_cast<double>(n), step->of(variant, figure).median});
  }
  return all;
}

std::optional<double> cpu_exponent(const results& found, const growth_series& s,
                                   const std::string& variant) {
  return growth_exponent(costs(found, s, variant, figure::cpu_seconds), least_cpu_seconds);
}

std::optional<double> exponent(const results& found, const growth_series& s,
                               const std::string& variant, const char* figure) {
  return growth_exponent(costs(found, s, variant, figure), 0);
}

}  // namespace conclave::bench
