#include "assignment.hpp"

#include <stdexcept>

namespace conclave::bench {
namespace {

constexpr const char* any_cpu = "any";

}  // namespace

std::vector<std::string> to_arguments(const assignment& a) {
  return {worker_option,
          a.kind,
          a.servers,
          std::to_string(a.server),
          a.cpu ? std::to_string(*a.cpu) : any_cpu,
          std::to_string(a.sessions),
          std::to_string(a.warm_up.count()),
          std::to_string(a.measured.count()),
          a.root};
}

assignment from_arguments(std::span<const std::string> arguments) {
  if (arguments.size() != 9 || arguments[0] != worker_option)
    throw std::runtime_error("a worker is started by the benchmark itself");
  assignment a;
  a.kind = arguments[1];
  a.servers = arguments[2];
  a.server = std::stoi(arguments[3]);
  if (arguments[4] != any_cpu) a.cpu = std::stoi(arguments[4]);
  a.sessions = std::stoul(arguments[5]);
  a.warm_up = std::chrono::milliseconds(std::stol(arguments[6]));
  a.measured = std::chrono::milliseconds(std::stol(arguments[7]));
  a.root = arguments[8];
  return a;
}

}  // namespace conclave::bench
