#include "worker.hpp"

#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "affinity.hpp"

namespace conclave::bench {
namespace {

constexpr const char* any_cpu = "any";
constexpr const char* figure_word = "figure";

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
  for (const auto& [name, value] : run_round(*who, a.plan))
    std::printf("%s %s %.9g\n", figure_word, name.c_str(), value);
}

figures figures_in(const std::string& output) {
  figures result;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    std::string name;
    double value = 0;
    if (words >> word >> name >> value && word == figure_word) result[name] = value;
  }
  if (result.empty()) throw std::runtime_error("a round brought no figures:\n" + output);
  return result;
}

}  // namespace conclave::bench
