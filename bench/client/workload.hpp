// What is measured: the workloads, and their figures.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "contestant.hpp"

namespace conclave::bench {

// Figures of one round, by name.
using figures = std::map<std::string, double>;

namespace figure {
inline constexpr const char* operations_per_second = "operations_per_second";
inline constexpr const char* cpu_us_per_operation = "cpu_us_per_operation";  // user and system
inline constexpr const char* user_us_per_operation = "user_us_per_operation";
inline constexpr const char* system_us_per_operation = "system_us_per_operation";
inline constexpr const char* switches_per_operation = "context_switches_per_operation";
inline constexpr const char* latency_us = "latency_us";  // the round's median
inline constexpr const char* latency_p99_us = "latency_p99_us";
}  // namespace figure

enum class kind { creates, gets, blocking_gets };

std::string_view name_of(kind k);
kind kind_named(std::string_view name);  // throws std::runtime_error

inline constexpr const char* root_path = "/bench";
inline constexpr const char* node_path = "/bench/node";  // what the gets read
inline constexpr std::size_t data_size = 32;
std::string node_data();

// One round: `warm_up` operations that do not count, then `operations` that do. Creates go below
// `parent`, which the round makes.
struct round_plan {
  kind what{kind::creates};
  std::size_t operations{0};
  std::size_t warm_up{0};
  std::size_t window{0};
  std::string parent;
};
figures run_round(contestant& who, const round_plan& plan);

}  // namespace conclave::bench
