// The benchmark's command line.
#pragma once

#include <chrono>
#include <cstddef>
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
  std::size_t crowd_rounds{3};
  std::size_t most_peer_waiters{10'000};  // of all but our own lock
  std::chrono::milliseconds warm_up{200};
  std::chrono::milliseconds measured{800};
};

extern const char* const usage;

// Throws std::runtime_error.
options parse_options(std::span<const std::string> arguments);

}  // namespace conclave::bench
