#include "deep.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "round.hpp"

namespace conclave::bench {
namespace {

// Two runs of different lengths: their difference is free of start and end.
constexpr std::size_t short_run = 1000;
constexpr std::size_t long_run = 6000;

using counts = std::map<std::string, double>;

class tracer {
 public:
  tracer(const std::string& servers, std::size_t window, nodes& tree)
      : servers_(servers), window_(window), tree_(tree) {}

  deep_cost cost(kind what, const std::string& who) {
    deep_cost result{what, who, 0, system_calls(what, who), 0};
    for (const auto& [name, count] : result.by_name) result.system_calls += count;
    result.instructions = instructions(what, who);
    return result;
  }

 private:
  static double per_operation(double in_long, double in_short) {
    return std::max(0.0, in_long - in_short) / static_cast<double>(long_run - short_run);
  }

  std::string run(kind what, const std::string& who, std::size_t operations,
                  const std::vector<std::string>& under) {
    assignment a{who, servers_, {what, operations, 0, window_, "-"}, std::nullopt};
    if (what != kind::creates) return run_worker_process(a, under);
    a.plan.parent = tree_.new_parent();
    auto output = run_worker_process(a, under);
    tree_.remove_with_children(a.plan.parent);
    return output;
  }

  counts system_calls(kind what, const std::string& who) {
    const std::vector<std::string> strace{"strace", "-f", "-q", "-c", "-U", "calls,name"};
    const auto before = calls_in(run(what, who, short_run, strace));
    auto result = calls_in(run(what, who, long_run, strace));
    for (auto& [name, count] : result)
      count = per_operation(count, before.contains(name) ? before.at(name) : 0);
    return result;
  }

  // Lines of a number and a name; the last one is the sum.
  static counts calls_in(const std::string& output) {
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

  double instructions(kind what, const std::string& who) {
    const std::vector<std::string> callgrind{"valgrind", "--tool=callgrind", "--fair-sched=try",
                                             "--callgrind-out-file=/dev/null"};
    const auto before = collected_in(run(what, who, short_run, callgrind));
    return per_operation(collected_in(run(what, who, long_run, callgrind)), before);
  }

  // "==PID== Collected : NUMBER"
  static double collected_in(const std::string& output) {
    const std::string mark = "Collected : ";
    const auto at = output.find(mark);
    return at == std::string::npos ? 0 : std::stod(output.substr(at + mark.size()));
  }

  std::string servers_;
  std::size_t window_;
  nodes& tree_;
};

}  // namespace

std::vector<deep_cost> measure_deep(const std::string& servers, std::size_t window, nodes& tree,
                                    progress_display& progress) {
  constexpr kind kinds[] = {kind::creates, kind::gets, kind::blocking_gets};
  tracer trace(servers, window, tree);
  std::vector<deep_cost> result;
  progress.step("system calls and instructions", std::size(kinds) * std::size(contestants));
  for (const auto what : kinds) {
    for (const auto* who : contestants) {
      result.push_back(trace.cost(what, who));
      progress.round_done(who);
    }
  }
  return result;
}

}  // namespace conclave::bench
