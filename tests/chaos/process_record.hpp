// One process that used the library: a worker, or the driver itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "chaos/history.hpp"

namespace conclave::chaos {

struct process_record {
  std::string name;  // "mutex-3.1": job, slot, number of earlier processes in the slot
  std::string job;
  std::size_t slot = 0;
  std::chrono::milliseconds session{0};
  std::filesystem::path file;           // its history
  std::optional<nanoseconds> killed{};  // shortly before
};

}  // namespace conclave::chaos
