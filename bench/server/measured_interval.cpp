#include "measured_interval.hpp"

#include <algorithm>
#include <stdexcept>

#include "driver/results.hpp"
#include "driver/system_status.hpp"

namespace conclave::bench {

bool is_disturbed(const figures& round) {
  constexpr double tolerated = 0.3;
  const auto others = round.find(figure::others_core_share);
  return others != round.end() && others->second > tolerated;
}

measured_interval::measured_interval(const round_task& task)
    : measure_from_(clock::now() + task.warm_up),
      measure_until_(measure_from_ + task.measured),
      server_(task.server),
      cpu_(task.cpu) {
  latencies_us_.reserve(200'000);
}

bool measured_interval::operation_done(clock::time_point begun) {
  if (!found_.empty()) return false;
  const auto now = clock::now();
  if (watch_) {
    latencies_us_.push_back(std::chrono::duration<double, std::micro>(now - begun).count());
    if (now >= measure_until_) finish();
  } else if (now >= measure_from_) {
    server_cpu_us_ = cpu_us_of(server_);
    busy_us_ = busy_us(cpu_);
    watch_.emplace();
  }
  return found_.empty();
}

void measured_interval::finish() {
  const double wall = watch_->wall_us();
  const double client = watch_->user_us() + watch_->system_us();
  const double server = cpu_us_of(server_) - server_cpu_us_;
  const double others = std::max(0.0, busy_us(cpu_) - busy_us_ - client - server);
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

figures measured_interval::result() const {
  if (found_.empty()) throw std::runtime_error("no operation completed within the measured time");
  return found_;
}

}  // namespace conclave::bench
