// What one round measured: numbers by name.
//
// A round runs in a process of its own, so that the CPU time it takes is one contestant's alone and
// nobody finds the threads or the heap of the one before. Its figures come as lines of standard
// output: "figure NAME VALUE".
#pragma once

#include <map>
#include <string>

namespace conclave::bench {

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

void print_figures(const figures& found);

// Throws std::runtime_error, with the output, if there are none in it.
figures figures_in(const std::string& output);

}  // namespace conclave::bench
