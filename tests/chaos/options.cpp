#include "chaos/options.hpp"

#include <random>
#include <stdexcept>
#include <string_view>

namespace conclave::chaos {

const char* const usage =
    "usage: chaos [--server ensemble|embedded] [--minutes M] [--workers N] [--seed S]\n"
    "             [--report FOLDER] [--session-ms T] [--conclave PROGRAM] [--worker PROGRAM]\n"
    "             [--careless]\n"
    "\n"
    "  --server     three Apache ZooKeeper servers (ensemble) or `conclave serve` (embedded)\n"
    "  --minutes    duration of the faults (10)\n"
    "  --workers    number of worker processes, at least 8 (16)\n"
    "  --seed       selects the faults and the actions of the workers, but not their timing\n"
    "  --report     folder for report.md, report.json and the histories (build/chaos)\n"
    "  --session-ms the session timeout of the workers (3000)\n"
    "  --careless   the workers ignore held() and lost(); the run must detect this\n"
    "\n"
    "Exit codes: 0 no violation and everything covered, 1 otherwise, 2 the run failed.\n";

options read_options(int argc, char** argv) {
  options o;
  o.seed = std::random_device{}();
  o.conclave = CONCLAVE_BINARY;
  o.worker = CHAOS_WORKER;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--careless") {
      o.careless = true;
      continue;
    }
    if (i + 1 == argc)
      throw std::invalid_argument{"unknown option or missing value: " + std::string{name}};
    const std::string value = argv[++i];
    if (name == "--server" && (value == "ensemble" || value == "embedded"))
      o.ensemble = value == "ensemble";
    else if (name == "--minutes")
      o.minutes = std::stod(value);
    else if (name == "--workers")
      o.workers = std::stoul(value);
    else if (name == "--seed")
      o.seed = std::stoull(value);
    else if (name == "--report")
      o.report = value;
    else if (name == "--session-ms")
      o.session = std::chrono::milliseconds{std::stoi(value)};
    else if (name == "--conclave")
      o.conclave = value;
    else if (name == "--worker")
      o.worker = value;
    else
      throw std::invalid_argument{"invalid option: " + std::string{name} + " " + value};
  }
  if (o.minutes <= 0) throw std::invalid_argument{"--minutes must be greater than 0"};
  if (o.workers < 8) throw std::invalid_argument{"--workers must be at least 8, one for each job"};
  if (o.session.count() < 600) throw std::invalid_argument{"--session-ms must be at least 600"};
  return o;
}

}  // namespace conclave::chaos
