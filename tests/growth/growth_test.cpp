// Twice the load costs about twice as much: bytes, frames and CPU time of client and server. Wall
// time is not judged.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/conclave_server.hpp"
#include "driver/process.hpp"
#include "growth/fit.hpp"
#include "growth/step_figures.hpp"
#include "growth/workloads.hpp"

namespace conclave::bench {
namespace {

// The largest exponents.
constexpr double linear = 1.5;
constexpr double independent = 0.5;

// Below this, the fixed cost of the first calls matters.
constexpr double least_cpu_seconds = 0.01;
// n is doubled until this many steps count, so the exponent is that of a range of at least 16. A
// busy machine can double a CPU time, which changes such an exponent by about 0.25.
constexpr int steps_that_count = 5;

constexpr int attempts = 4;

struct growth_case {
  const char* workload;
  std::size_t first;                                           // the smallest n
  std::size_t last = std::numeric_limits<std::size_t>::max();  // the largest n allowed
  std::vector<const char*> judged{figure::bytes, figure::frames, figure::cpu_seconds};
};

void PrintTo(const growth_case& c, std::ostream* out) { *out << c.workload; }

using costs = std::map<std::string, std::vector<cost_at>>;

figures measure(const char* workload, std::size_t n) {
  const conclave_server server({CONCLAVE_BINARY}, "none");
  return run_workload({workload, server.connect_string(), server.pid(), n});
}

void add_step(costs& to, std::size_t n, const figures& found) {
  for (const auto& [name, value] : found) to[name].push_back({static_cast<double>(n), value});
}

std::string describe(const std::string& name, double exponent, const std::vector<cost_at>& steps) {
  auto text = name + " grows with the exponent " + std::to_string(exponent) + ':';
  for (const auto& step : steps)
    text += ' ' + std::to_string(step.cost) + " for " + std::to_string(std::lround(step.n));
  return text + '\n';
}

class growth : public ::testing::TestWithParam<growth_case> {
 protected:
  static void SetUpTestSuite() { allow_many_descriptors(); }

  static double least_cost(const std::string& name) {
    return name == figure::cpu_seconds ? least_cpu_seconds : 0;
  }

  static costs measure_steps() {
    const auto& c = GetParam();
    costs found;
    int counted = 0;
    for (auto n = c.first; n <= c.last && counted < steps_that_count; n *= 2) {
      add_step(found, n, measure(c.workload, n));
      counted += found.at(figure::cpu_seconds).back().cost >= least_cpu_seconds;
    }
    return found;
  }
};

// The costs of one attempt can deviate. Contenders that arrive one by one each list the wait queue,
// and those that arrive together share a listing. A busy machine adds CPU time. So a cost that
// grows too fast must do so in each attempt.
TEST_P(growth, is_linear) {
  auto suspects = GetParam().judged;
  std::string found;
  for (int attempt = 0; attempt < attempts && !suspects.empty(); ++attempt) {
    const auto all = measure_steps();
    found.clear();
    std::erase_if(suspects, [&](const char* name) {
      const auto exponent = growth_exponent(all.at(name), least_cost(name));
      EXPECT_TRUE(exponent) << name << " is too small to measure";
      if (!exponent || *exponent <= linear) return true;
      found += describe(name, *exponent, all.at(name));
      return false;
    });
  }
  EXPECT_TRUE(suspects.empty()) << found;
}

// Each consumer with its own session lists the items once. So their bytes grow with the square of
// n, and so does the CPU time. Only their frames do not.
std::vector<growth_case> cases() {
  return {{"locks-held", 500},
          {"locks-waited-for", 250},
          {"readers", 250},
          {"shared-holds", 500},
          {"writers", 250},
          {"permits", 100},
          {"candidates", 250},
          {"observers", 1'000},
          {"multi-paths", 1'000, 8'000},  // more do not fit into one request
          {"queue-items", 2'000},
          {"queue-items-4", 2'000},
          {"consumers", 100, 400, {figure::frames}},
          {"consumers-of-one-session", 4'000},
          {"sessions", 100, 1'600},  // two descriptors each
          {"watches", 4'000},
          {"nodes", 8'000}};
}

INSTANTIATE_TEST_SUITE_P(all, growth, ::testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = test.param.workload;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// The cost of a hold that lasts longer than 100 ms does not depend on the other locks of the
// client.
TEST(growth_of_long_holds, is_independent_of_other_locks) {
  allow_many_descriptors();
  std::string found;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    costs all;
    for (const std::size_t n : {250u, 16'000u}) add_step(all, n, measure("long-holds", n));
    found.clear();
    for (const auto* name : {figure::bytes, figure::frames, figure::cpu_seconds})
      if (const auto exponent = growth_exponent(all.at(name), 0); *exponent > independent)
        found += describe(name, *exponent, all.at(name));
    if (found.empty()) return;
  }
  FAIL() << found;
}

}  // namespace
}  // namespace conclave::bench
