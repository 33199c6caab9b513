#include "calibration.hpp"

#include <algorithm>
#include <chrono>

#include "simulation/ensemble/ensemble_workloads.hpp"

namespace conclave::bench {
namespace {

using microseconds = std::chrono::duration<double, std::micro>;

std::chrono::nanoseconds time_of(double us) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(microseconds{std::max(us, 0.1)});
}
double us_of(std::chrono::nanoseconds t) { return microseconds{t}.count(); }

}  // namespace

simulated::ensemble_options calibrate(const calibration_input& measured) {
  simulated::ensemble_options o;
  o.shared_cores = measured.cores;
  o.kilobyte_cpu = time_of(2);
  const auto cores = static_cast<double>(measured.cores);

  // With many clients, the cores are the limit. The CPU time of a read is shared by client and
  // server in equal parts.
  const double read_cpu = cores * 1e6 / measured.reads_per_second;
  o.request_cpu = o.client_cpu = o.event_cpu = time_of(read_cpu / 2);
  // A read crosses the network twice.
  o.client_delay = o.server_delay = time_of((measured.read_us - read_cpu) / 2);

  // Each of these two parameters mainly affects one of the two figures.
  double write_cpu = (cores * 1e6 / measured.locks_per_second - read_cpu) / 4;
  double flush = measured.lock_us / 2;
  for (int i = 0; i < 12; ++i) {
    o.propose_cpu = o.apply_cpu = time_of(write_cpu);
    o.flush = time_of(flush);
    const auto many = simulated::run_own_locks(o, measured.many_clients, 3000);
    write_cpu *= many.per_second() / measured.locks_per_second;
    const auto one = simulated::run_own_locks(o, 1, 300);
    flush = std::max(flush + measured.lock_us - us_of(one.median), 1.0);
  }
  return o;
}

}  // namespace conclave::bench
