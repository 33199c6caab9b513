#include "traced_cost.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <sstream>

#include "client_library.hpp"

namespace conclave::bench {
namespace {

// The difference between two runs of different lengths does not include startup and shutdown.
constexpr std::size_t short_run = 1000;
constexpr std::size_t long_run = 6000;

using counts = std::map<std::string, double>;
// Returns the output of a worker that runs this number of operations under the tracer.
using traced_run = std::function<std::string(std::size_t, const std::vector<std::string>&)>;

double per_operation(double in_long, double in_short) {
  return std::max(0.0, in_long - in_short) / static_cast<double>(long_run - short_run);
}

// Each line contains a number and a name. The last line is the sum.
counts calls_in(const std::string& output) {
  counts result;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    double count = 0;
    std::string name;
    if (words >> count >> name && name != "total") result[name] = count;
  }
  return result;
}

counts system_calls(const traced_run& run) {
  const std::vector<std::string> strace{"strace", "-f", "-q", "-c", "-U", "calls,name"};
  const auto before = calls_in(run(short_run, strace));
  auto result = calls_in(run(long_run, strace));
  for (auto& [name, count] : result)
    count = per_operation(count, before.contains(name) ? before.at(name) : 0);
  return result;
}

// "==PID== Collected : NUMBER"
double collected_in(const std::string& output) {
  const std::string mark = "Collected : ";
  const auto at = output.find(mark);
  return at == std::string::npos ? 0 : std::stod(output.substr(at + mark.size()));
}

double instructions(const traced_run& run) {
  const std::vector<std::string> callgrind{"valgrind", "--tool=callgrind", "--fair-sched=try",
                                           "--callgrind-out-file=/dev/null"};
  const auto before = collected_in(run(short_run, callgrind));
  return per_operation(collected_in(run(long_run, callgrind)), before);
}

}  // namespace

std::vector<traced_cost> trace_costs(client_rounds& rounds, std::size_t window,
                                     progress_display& progress) {
  constexpr workload workloads[] = {workload::creates, workload::gets, workload::blocking_gets};
  std::vector<traced_cost> result;
  progress.begin_step("system calls and instructions",
                      std::size(workloads) * std::size(variant::all));
  for (const auto what : workloads) {
    for (const auto* name : variant::all) {
      const traced_run run = [&](std::size_t operations, const std::vector<std::string>& tracer) {
        return rounds.trace({what, operations, 0, window, std::nullopt}, name, tracer);
      };
      traced_cost cost{what, name, 0, system_calls(run), 0};
      for (const auto& [call, count] : cost.by_name) cost.system_calls += count;
      cost.instructions = instructions(run);
      result.push_back(std::move(cost));
      progress.round_done(name);
    }
  }
  return result;
}

}  // namespace conclave::bench
