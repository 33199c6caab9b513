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
    "  --server     three Apache ZooKeepers (ensemble), or `conclave serve` (embedded)\n"
    "  --minutes    how long faults happen (10)\n"
    "  --workers    how many processes use the library, 8 at least (16)\n"
    "  --seed       which faults, and what the workers do; the timing is the machine's own\n"
    "  --report     where report.md, report.json and the histories go (build/chaos)\n"
    "  --session-ms the session timeout of the workers (3000)\n"
    "  --careless   the workers look neither at held() nor at lost(): must be found out\n"
    "\n"
    "Ends with 0 if nothing was violated and everything that was to be shown was shown, 1 if not,\n"
    "2 if the run could not be made.\n";

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
    if (i + 1 == argc) throw std::invalid_argument{"what is " + std::string{name} + "?"};
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
      throw std::invalid_argument{"what is " + std::string{name} + " " + value + "?"};
  }
  if (o.minutes <= 0) throw std::invalid_argument{"--minutes must be more than 0"};
  if (o.workers < 8) throw std::invalid_argument{"--workers must be 8 at least: one for each job"};
  if (o.session.count() < 600) throw std::invalid_argument{"--session-ms must be 600 at least"};
  return o;
}

}  // namespace conclave::chaos
