// One process that used the library: a worker until it was killed, or the driver itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "chaos/history.hpp"

namespace conclave::chaos {

struct life {
  std::string name;  // "mutex-3.1": job, slot, how many there were in it before
  std::string job;
  std::size_t slot = 0;
  std::chrono::milliseconds session{0};
  std::filesystem::path file;           // its history
  std::optional<nanoseconds> killed{};  // just before
};

}  // namespace conclave::chaos
