// Counts the operations that end within an interval of time, after a warm-up, and measures their
// cost. For one thread: the one that sees the operations end.
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
inline constexpr const char* client_core_share = "client_core_share";  // 1: a whole core
inline constexpr const char* server_cpu_us_per_operation = "server_cpu_us_per_operation";
inline constexpr const char* server_core_share = "server_core_share";
// CPU time that neither client nor server used, of their core if they are pinned to one: the
// kernel's threads, and other programs that disturb the round.
inline constexpr const char* others_core_share = "others_core_share";
}  // namespace figure

// Other programs used more than 30 % of a core.
bool is_disturbed(const figures& round);

class measured_interval {
 public:
  using clock = std::chrono::steady_clock;

  // The warm-up begins now.
  explicit measured_interval(const round_task& task);

  // To be called when an operation has ended. False: start no more operations.
  bool operation_done(clock::time_point begun);

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
