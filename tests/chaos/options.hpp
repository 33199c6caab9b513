// The command line of the chaos run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace conclave::chaos {

struct options {
  bool ensemble = true;
  double minutes = 10;
  std::size_t workers = 16;
  std::uint64_t seed = 0;
  std::filesystem::path report = "build/chaos";
  std::chrono::milliseconds session{3000};  // for half of the workers; 4/3 of it for the others
  std::string conclave;                     // the program, for the embedded server
  std::string worker;                       // the program of the workers
  bool careless = false;

  const char* server_name() const { return ensemble ? "ensemble" : "embedded"; }
  std::chrono::milliseconds tick() const { return session / 6; }
};

extern const char* const usage;
// Throws std::invalid_argument.
options read_options(int argc, char** argv);

}  // namespace conclave::chaos
