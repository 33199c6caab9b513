// The result of an inspection as a human-readable tree, and as JSON.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "cli/show/json.hpp"
#include "cli/show/text.hpp"
#include "conclave/inspect.hpp"

namespace conclave::cli {

// Returns the lines, without trailing newline characters. They show up to `most` waiters or claims
// for each recipe, or all of them if `most` is 0.
std::vector<std::string> inventory_lines(const inspection& s, const std::vector<std::string>& roots,
                                         const output_format& p, std::size_t most,
                                         std::chrono::system_clock::time_point now);

json::object inventory_json(const inspection& s, const std::vector<std::string>& roots);

}  // namespace conclave::cli
