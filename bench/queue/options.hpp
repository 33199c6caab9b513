// The benchmark's command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace conclave::bench {

struct options {
  bool help{false};
  std::string json;  // a file to write; empty: none
  std::filesystem::path folder{"."};
  std::string only;  // series whose names begin so; empty: all
  bool force_sync{true};
  bool one_core{false};

  std::size_t rounds{5};
  std::int64_t items{4'000};  // through the queue in a round, for each four producers
  std::size_t longest_for_peers{10'000};
  std::chrono::milliseconds limit{30'000};  // of a round
};

extern const char* const usage;

// Throws std::runtime_error.
options parse_options(std::span<const std::string> arguments);

}  // namespace conclave::bench
