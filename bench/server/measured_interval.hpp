// Counts the operations that complete within an interval after a warm-up, and measures their cost.
// Only the thread on which the operations complete may use it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <vector>

#include "driver/results.hpp"
#include "driver/stopwatch.hpp"
#include "workloads.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* client_core_share = "client_core_share";  // 1 means a whole core
inline constexpr const char* server_cpu_us_per_operation = "server_cpu_us_per_operation";
inline constexpr const char* server_core_share = "server_core_share";
// CPU time that neither client nor server used: threads of the kernel, and other programs that
// disturb the round. If client and server are pinned, only the time of their core counts.
inline constexpr const char* others_core_share = "others_core_share";
}  // namespace figure

// Returns true if other programs used more than 30 % of a core.
bool is_disturbed(const figures& round);

class measured_interval {
 public:
  using clock = std::chrono::steady_clock;

  // Starts the warm-up.
  explicit measured_interval(const round_task& task);

  // Call when an operation has completed. Returns false if no more operations must be started.
  bool operation_done(clock::time_point begun);

  // Throws std::runtime_error if too few operations completed.
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
