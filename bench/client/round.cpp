#include "round.hpp"

#include <utility>

#include "harness/command.hpp"

namespace conclave::bench {
namespace {

// More than a worker's own limits together: then it can still say itself what went wrong.
constexpr auto process_limit = 4 * time_limit;

}  // namespace

std::string run_worker_process(const assignment& a, std::vector<std::string> under) {
  auto command = std::move(under);
  command.push_back(this_program());
  const auto arguments = to_arguments(a);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return output_of(command, process_limit);
}

figures measure(const assignment& a) { return figures_in(run_worker_process(a)); }

}  // namespace conclave::bench
