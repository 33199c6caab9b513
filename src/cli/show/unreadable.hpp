// Nodes that an inspection could not read, in sentences and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/show/json.hpp"
#include "conclave/inspect.hpp"

namespace conclave::cli {

// Returns a sentence that ends with a full stop.
std::string unreadable_sentence(const unreadable_node& n);
json::array unreadable_json(const std::vector<unreadable_node>& all);

}  // namespace conclave::cli
