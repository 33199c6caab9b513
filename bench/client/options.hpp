// The benchmark's command line.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace conclave::bench {

struct options {
  bool help{false};
  bool deep{false};
  std::string json;       // a file to write; empty: none
  std::size_t rounds{5};  // of each contestant, in each series
};

inline constexpr const char* usage =
    "usage: bench_client [--json FILE] [--rounds N] [--deep]\n"
    "\n"
    "Compares Conclave's client with libzookeeper_mt, in alternating rounds, against one Apache\n"
    "ZooKeeper that it starts itself on the loopback interface and stops again.\n"
    "\n"
    "  --json FILE  write all rounds, medians and spreads there\n"
    "  --rounds N   measured rounds of each client in each series, 1 to 100 (default 5)\n"
    "  --deep       also count system calls (strace) and instructions (callgrind)\n";

// Throws std::runtime_error.
options parse_options(std::span<const std::string> arguments);

}  // namespace conclave::bench
