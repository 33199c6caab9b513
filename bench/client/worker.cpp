#include "worker.hpp"

#include <stdexcept>

#include "harness/affinity.hpp"

namespace conclave::bench {
namespace {

constexpr const char* any_cpu = "any";

}  // namespace

std::vector<std::string> to_arguments(const assignment& a) {
  return {worker_option,
          a.contestant,
          a.servers,
          a.cpu ? std::to_string(*a.cpu) : any_cpu,
          std::string(name_of(a.plan.what)),
          std::to_string(a.plan.operations),
          std::to_string(a.plan.warm_up),
          std::to_string(a.plan.window),
          a.plan.parent};
}

assignment from_arguments(std::span<const std::string> arguments) {
  if (arguments.size() != 9 || arguments[0] != worker_option)
    throw std::runtime_error("a worker is started by the benchmark itself");
  assignment a;
  a.contestant = arguments[1];
  a.servers = arguments[2];
  if (arguments[3] != any_cpu) a.cpu = std::stoi(arguments[3]);
  a.plan = {kind_named(arguments[4]), std::stoul(arguments[5]), std::stoul(arguments[6]),
            std::stoul(arguments[7]), arguments[8]};
  return a;
}

void run_worker(const assignment& a) {
  if (a.cpu) pin_this_process(*a.cpu);  // before there are threads to miss
  const auto who = make_contestant(a.contestant, a.servers);
  print_figures(run_round(*who, a.plan));
}

}  // namespace conclave::bench
