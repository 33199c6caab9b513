// The series of bench_growth: which steps each has, and how its cost grew.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "driver/results.hpp"
#include "fit.hpp"

namespace conclave::bench {

namespace variant {
inline constexpr const char* embedded = "embedded server";
inline constexpr const char* apache = "Apache ZooKeeper";
}  // namespace variant

namespace figure {
inline constexpr const char* cpu_us_each = "cpu_us_each";  // cpu_seconds divided by n
inline constexpr const char* bytes_each = "bytes_each";
}  // namespace figure

// The steps of a workload. A step is a series of the driver, with the name of step_name().
struct growth_series {
  std::string workload;
  std::string title;
  std::vector<std::size_t> steps;  // ascending
  bool grows{true};                // its cost is proportional to n, so that a fit makes sense
  bool on_apache{true};

  std::string step_name(std::size_t n) const { return workload + '-' + std::to_string(n); }
};

std::vector<growth_series> all_growth_series();

// The series of the memory and the files of the server after locks came and went.
inline constexpr const char* rest_series = "rest";

// CPU time below this is mostly that of the first calls, so such steps are left out of the fit.
inline constexpr double least_cpu_seconds = 0.05;

std::vector<cost_at> costs(const results& found, const growth_series& s, const std::string& variant,
                           const char* figure);
std::optional<double> cpu_exponent(const results& found, const growth_series& s,
                                   const std::string& variant);
std::optional<double> exponent(const results& found, const growth_series& s,
                               const std::string& variant, const char* figure);

}  // namespace conclave::bench
