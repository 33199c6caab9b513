#include "time_window.hpp"

#include <algorithm>
#include <stdexcept>

#include "harness/spread.hpp"
#include "process_status.hpp"

namespace conclave::bench {

time_window::time_window(std::chrono::milliseconds warm_up, std::chrono::milliseconds measured,
                         pid_t server)
    : measure_from_(clock::now() + warm_up),
      measure_until_(measure_from_ + measured),
      server_(server) {
  latencies_us_.reserve(200'000);
}

bool time_window::ended(clock::time_point begun) {
  if (!found_.empty()) return false;
  const auto now = clock::now();
  if (watch_) {
    latencies_us_.push_back(std::chrono::duration<double, std::micro>(now - begun).count());
    if (now >= measure_until_) finish();
  } else if (now >= measure_from_) {
    server_cpu_us_ = cpu_us_of(server_);
    machine_cpu_us_ = machine_cpu_us();
    watch_.emplace();
  }
  return found_.empty();
}

void time_window::finish() {
  const double wall = watch_->wall_us();
  const double client = watch_->user_us() + watch_->system_us();
  const double server = cpu_us_of(server_) - server_cpu_us_;
  const double others = std::max(0.0, machine_cpu_us() - machine_cpu_us_ - client - server);
  const auto operations = static_cast<double>(latencies_us_.size());
  std::sort(latencies_us_.begin(), latencies_us_.end());
  found_ = {{figure::operations_per_second, operations * 1e6 / wall},
            {figure::latency_us, quantile(latencies_us_, 0.5)},
            {figure::latency_p99_us, quantile(latencies_us_, 0.99)},
            {figure::cpu_us_per_operation, client / operations},
            {figure::client_core_share, client / wall},
            {figure::server_cpu_us_per_operation, server / operations},
            {figure::server_core_share, server / wall},
            {figure::others_core_share, others / wall}};
}

figures time_window::result() const {
  if (found_.empty()) throw std::runtime_error("no operation ended within the measured time");
  return found_;
}

}  // namespace conclave::bench
