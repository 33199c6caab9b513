// The benchmark's command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace conclave::bench {

struct options {
  bool help{false};
  std::string json;  // a file to write; empty: none
  std::filesystem::path folder{"."};
  std::vector<std::string> ours;  // the command that `serve --data ...` is appended to
  std::string only;               // series whose names begin so; empty: all

  std::size_t rounds{7};
  std::size_t starts{9};    // rounds of the start
  std::size_t fillings{3};  // rounds of the memory
  std::chrono::milliseconds warm_up{300};
  std::chrono::milliseconds measured{1500};
};

extern const char* const usage;

// Throws std::runtime_error.
options parse_options(std::span<const std::string> arguments);

}  // namespace conclave::bench
