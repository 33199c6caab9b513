// Counts the operations that end within a stretch of time, after a warm-up, and what they cost.
//
// For one thread: the one that sees the operations end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <vector>

#include "assignment.hpp"
#include "harness/figures.hpp"
#include "harness/stopwatch.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* client_core_share = "client_core_share";  // 1: a whole core
inline constexpr const char* server_cpu_us_per_operation = "server_cpu_us_per_operation";
inline constexpr const char* server_core_share = "server_core_share";
// What neither of the two used, of their core if they are kept on one: the kernel's own threads,
// and other work that disturbs the round.
inline constexpr const char* others_core_share = "others_core_share";
}  // namespace figure

// Others used so much of a core that the round says little.
bool is_disturbed(const figures& round);

class time_window {
 public:
  using clock = std::chrono::steady_clock;

  // The time runs from now on.
  explicit time_window(const assignment& a);

  // Tells of an operation that has just ended. False when there should be no more of them.
  bool ended(clock::time_point begun);

  // Throws std::runtime_error if too few operations ended.
  figures result() const;

 private:
  void finish();

  clock::time_point measure_from_;
  clock::time_point measure_until_;
  pid_t server_;
  std::optional<int> cpu_;
  std::optional<stopwatch> watch_;
  double server_cpu_us_{0};
  double busy_us_{0};
  std::vector<double> latencies_us_;
  figures found_;
};

}  // namespace conclave::bench
