// Ten times the load costs about ten times as much. Bytes and frames are counted, so a busy machine
// hardly changes them. CPU time counts only where it is long.
#include <algorithm>
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

constexpr double most = 1.5;

// Below this, the fixed cost of the first calls and of the clock's steps matters.
constexpr double least_cpu_seconds = 0.5;

enum class expected { linear, linear_frames };

struct growth_case {
  const char* workload;
  std::vector<std::size_t> steps;
  expected growth{expected::linear};
};

void PrintTo(const growth_case& c, std::ostream* out) { *out << c.workload; }

class growth : public ::testing::TestWithParam<growth_case> {
 protected:
  static void SetUpTestSuite() { allow_many_descriptors(); }

  static figures measure(std::size_t n) {
    const conclave_server server({CONCLAVE_BINARY}, "none");
    return run_workload({GetParam().workload, server.connect_string(), server.pid(), n});
  }

  // Describes the costs that grow too fast; empty if there are none.
  static std::string find_fast_growth() {
    std::map<std::string, std::vector<cost_at>> costs;
    for (const auto n : GetParam().steps)
      for (const auto& [name, value] : measure(n))
        costs[name].push_back({static_cast<double>(n), value});
    std::string text;
    const auto check = [&](const char* name, double least_cost) {
      const auto& steps = costs.at(name);
      const auto exponent = growth_exponent(steps, least_cost);
      if (!exponent || *exponent <= most) return;
      text += std::string(name) + " grows with the exponent " + std::to_string(*exponent) + ':';
      for (const auto& step : steps)
        text += ' ' + std::to_string(step.cost) + " for " + std::to_string(step.n);
      text += '\n';
    };
    if (GetParam().growth == expected::linear) check(figure::bytes, 0);
    check(figure::frames, 0);
    check(figure::cpu_seconds, least_cpu_seconds);
    return text;
  }
};

// Contenders that arrive one by one each list the wait queue, and those that arrive together share
// a listing. On a busy machine, the contenders of a small step may arrive together and those of
// a large step one by one. So the best of three attempts counts.
TEST_P(growth, is_linear) {
  std::string found;
  for (int attempt = 0; attempt < 3; ++attempt)
    if (found = find_fast_growth(); found.empty()) return;
  FAIL() << found;
}

const std::vector<std::size_t> usual{250, 500, 1'000, 2'000};
const std::vector<std::size_t> with_sessions{100, 200, 400};

// Each consumer with its own session lists the items once. So their bytes grow with the square of
// n, and only their frames do not.
std::vector<growth_case> cases() {
  return {{"locks-held", usual},
          {"locks-waited-for", usual},
          {"readers", usual},
          {"shared-holds", usual},
          {"writers", usual},
          {"permits", usual},
          {"candidates", usual},
          {"observers", usual},
          {"multi-paths", usual},
          {"queue-items", usual},
          {"queue-items-4", usual},
          {"consumers", with_sessions, expected::linear_frames},
          {"consumers-of-one-session", usual},
          {"sessions", with_sessions},
          {"watches", usual},
          {"nodes", usual}};
}

INSTANTIATE_TEST_SUITE_P(all, growth, ::testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = test.param.workload;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace conclave::bench
