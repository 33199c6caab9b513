// The workloads: run one round of one variant, in this process or in a worker.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <conclave/client.hpp>

#include "driver/results.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* user_us_per_operation = "user_us_per_operation";
inline constexpr const char* system_us_per_operation = "system_us_per_operation";
inline constexpr const char* switches_per_operation = "context_switches_per_operation";
}  // namespace figure

enum class workload { creates, gets, blocking_gets };
std::string_view name_of(workload w);

// Runs `warm_up` operations without measuring them, and then measures `operations`.
struct round_plan {
  workload what{workload::creates};
  std::size_t operations{0};
  std::size_t warm_up{0};
  std::size_t window{1};   // requests in flight
  std::optional<int> cpu;  // the worker's core
};

// Runs rounds in workers. Creates and removes the nodes of the workloads outside the measured time.
class client_rounds {
 public:
  explicit client_rounds(const std::string& servers);

  figures measure(const round_plan& plan, const std::string& variant);
  // Returns the output of a worker that runs under this tracer or profiler.
  std::string trace(const round_plan& plan, const std::string& variant,
                    const std::vector<std::string>& tracer);

 private:
  template <class Run>
  auto with_parent(const round_plan& plan, const std::string& variant, Run run);
  void remove_with_children(const std::string& parent);

  std::string servers_;
  client client_;
  int parents_{0};
};

// Runs in the worker.
void run_client_worker(std::span<const std::string> arguments);

}  // namespace conclave::bench
