#include "options.hpp"

#include <sstream>
#include <stdexcept>

#include "harness/rounds_option.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream words(text);
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}

void shorten(options& o) {
  o.rounds = 3;
  o.starts = 3;
  o.fillings = 1;
  o.warm_up = 200ms;
  o.measured = 500ms;
}

}  // namespace

const char* const usage =
    "usage: bench_server [--json FILE] [--folder DIR] [--rounds N] [--quick] [--only SERIES]\n"
    "                    [--ours-command COMMAND]\n"
    "\n"
    "Compares Conclave's server with Apache ZooKeeper (both durable) and with Redis (neither\n"
    "durable), in alternating rounds of the same client. It starts them all itself, on the "
    "loopback\n"
    "interface, and stops them again.\n"
    "\n"
    "  --json FILE     write all rounds, medians and spreads there\n"
    "  --folder DIR    the servers' data go to a temporary folder in there (default: here); it "
    "has\n"
    "                  to be on a disk\n"
    "  --rounds N      measured rounds of each server in each series, 1 to 100 (default 7)\n"
    "  --quick         few and short rounds, to see that it works\n"
    "  --only SERIES   only series whose names begin so: lock-cycles, pipelined-creates, start,\n"
    "                  memory, redis\n"
    "  --ours-command  what to start instead of `conclave`, as words; "
    "bench/server/apache-stand-in\n"
    "                  lets Apache compete with itself, which shows how fair and how noisy this "
    "is\n";

options parse_options(std::span<const std::string> arguments) {
  options result;
#ifdef CONCLAVE_BENCH_SERVER
  result.ours = {CONCLAVE_BENCH_SERVER};
#endif
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& name = arguments[i];
    const auto value = [&] {
      if (++i == arguments.size()) throw std::runtime_error(name + " wants a value");
      return arguments[i];
    };
    if (name == "--help" || name == "-h")
      result.help = true;
    else if (name == "--quick")
      shorten(result);
    else if (name == "--json")
      result.json = value();
    else if (name == "--folder")
      result.folder = value();
    else if (name == "--only")
      result.only = value();
    else if (name == "--rounds")
      result.rounds = to_rounds(value());
    else if (name == "--ours-command")
      result.ours = words_of(value());
    else
      throw std::runtime_error("unknown argument '" + name + "'; try --help");
  }
  if (result.ours.empty() && !result.help)
    throw std::runtime_error("this build has no `conclave` program: give an --ours-command");
  return result;
}

}  // namespace conclave::bench
