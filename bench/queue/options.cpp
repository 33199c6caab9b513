#include "options.hpp"

#include <stdexcept>

#include "harness/rounds_option.hpp"

namespace conclave::bench {
namespace {

void shorten(options& o) {
  o.rounds = 1;
  o.items = 400;
  o.longest_for_peers = 1'000;
  o.limit = std::chrono::seconds{5};
}

}  // namespace

const char* const usage =
    "usage: bench_queue [--json FILE] [--folder DIR] [--rounds N] [--quick] [--only SERIES]\n"
    "                   [--no-sync] [--one-core]\n"
    "\n"
    "Compares Conclave's queue with those of ZooKeeper's recipes, Curator and kazoo, in\n"
    "alternating rounds on one Apache ZooKeeper, which it starts itself and stops again.\n"
    "\n"
    "  --json FILE     write all rounds, medians and spreads there\n"
    "  --folder DIR    the plots go there, and the server's data to a temporary folder in there\n"
    "                  (default: here)\n"
    "  --rounds N      measured rounds of each contestant in each series, 1 to 100 (default 5)\n"
    "  --quick         few and short rounds, and no long queues for peers, to see that it works\n"
    "  --only SERIES   only series whose names begin so: flow, drain-1, drain-4\n"
    "  --no-sync       the server does not wait for its disk (forceSync=no)\n"
    "  --one-core      server and contestants share one core: lower figures that agree better\n";

options parse_options(std::span<const std::string> arguments) {
  options result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& name = arguments[i];
    const auto value = [&] {
      if (++i == arguments.size()) throw std::runtime_error(name + " wants a value");
      return arguments[i];
    };
    if (name == "--help" || name == "-h") {
      result.help = true;
    } else if (name == "--quick") {
      shorten(result);
    } else if (name == "--json") {
      result.json = value();
    } else if (name == "--folder") {
      result.folder = value();
    } else if (name == "--only") {
      result.only = value();
    } else if (name == "--rounds") {
      result.rounds = to_rounds(value());
    } else if (name == "--no-sync") {
      result.force_sync = false;
    } else if (name == "--one-core") {
      result.one_core = true;
    } else {
      throw std::runtime_error("unknown argument '" + name + "'; try --help");
    }
  }
  return result;
}

}  // namespace conclave::bench
