#include <stdexcept>
#include <vector>

#include "driver/process.hpp"
#include "measured_interval.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

std::vector<std::string> to_arguments(const round_task& task) {
  return {task.workload,
          task.servers,
          std::to_string(task.server),
          to_argument(task.cpu),
          std::to_string(task.sessions),
          std::to_string(task.warm_up.count()),
          std::to_string(task.measured.count()),
          task.root};
}

round_task from_arguments(std::span<const std::string> arguments) {
  if (arguments.size() != 8) throw std::runtime_error("only the benchmark itself starts workers");
  return {arguments[0],
          arguments[1],
          std::stoi(arguments[2]),
          cpu_from_argument(arguments[3]),
          std::stoul(arguments[4]),
          std::chrono::milliseconds(std::stol(arguments[5])),
          std::chrono::milliseconds(std::stol(arguments[6])),
          arguments[7]};
}

figures run(const round_task& task) {
  if (task.workload == workload::lock_cycles) return run_lock_cycles(task);
  if (task.workload == workload::pipelined_creates) return run_pipelined_creates(task);
  if (task.workload == workload::memory) return run_memory(task);
  if (task.workload == workload::blocking_lock)
    return run_blocking_lock(task, delete_mode::not_awaited);
  if (task.workload == workload::blocking_lock_awaited)
    return run_blocking_lock(task, delete_mode::awaited);
  if (task.workload == workload::asynchronous_lock) return run_asynchronous_lock(task);
  if (task.workload == workload::redis_lock) return run_redis_lock(task);
  throw std::runtime_error("unknown workload '" + task.workload + "'");
}

}  // namespace

void run_server_worker(std::span<const std::string> arguments) {
  const auto task = from_arguments(arguments);
  if (task.cpu) pin_this_process(*task.cpu);  // before the first thread
  print_figures(run(task));
}

figures measure(const round_task& task) {
  auto found = measure_in_worker(to_arguments(task));
  if (!is_disturbed(found)) return found;
  auto again = measure_in_worker(to_arguments(task));
  const auto others = [](const figures& f) { return f.at(figure::others_core_share); };
  return others(again) < others(found) ? again : found;
}

}  // namespace conclave::bench
