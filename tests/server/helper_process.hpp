// Options that start helper_process.cpp.
#pragma once

#include <chrono>
#include <string>

#include "conclave/client.hpp"
#include "support/child_process.hpp"

namespace conclave::testing {

inline child_options helper_process(const std::string& role, const std::string& address, int number,
                                    const std::string& path) {
  return child_options{{HELPER_PROCESS, role, address, std::to_string(number), path}};
}

}  // namespace conclave::testing
