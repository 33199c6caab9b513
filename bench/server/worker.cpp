#include "worker.hpp"

#include <stdexcept>

#include "harness/affinity.hpp"
#include "harness/command.hpp"
#include "time_window.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

// More than a worker's own limits together: then it can still say itself what went wrong.
constexpr auto process_limit = 4 * time_limit;

figures run(const assignment& a) {
  if (a.kind == work::lock_cycles) return run_lock_cycles(a);
  if (a.kind == work::pipelined_creates) return run_pipelined_creates(a);
  if (a.kind == work::crowd) return run_crowd(a);
  if (a.kind == work::blocking_lock) return run_blocking_lock(a, false);
  if (a.kind == work::blocking_lock_awaited) return run_blocking_lock(a, true);
  if (a.kind == work::asynchronous_lock) return run_asynchronous_lock(a);
  if (a.kind == work::redis_lock) return run_redis_lock(a);
  throw std::runtime_error("no workload '" + a.kind + "'");
}

figures measure_once(const assignment& a) {
  std::vector<std::string> command{this_program()};
  const auto arguments = to_arguments(a);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return figures_in(output_of(command, process_limit));
}

}  // namespace

void run_worker(const assignment& a) {
  if (a.cpu) pin_this_process(*a.cpu);  // before there are threads to miss
  print_figures(run(a));
}

figures measure(const assignment& a) {
  auto found = measure_once(a);
  if (!is_disturbed(found)) return found;
  auto again = measure_once(a);
  const auto others = [](const figures& f) { return f.at(figure::others_core_share); };
  return others(again) < others(found) ? again : found;
}

}  // namespace conclave::bench
