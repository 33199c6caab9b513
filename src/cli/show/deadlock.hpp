// Prints deadlocks, in sentences and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/show/json.hpp"
#include "conclave/wait_graph.hpp"

namespace conclave::cli {

// Returns the deadlocks of this graph that still exist when they are read again.
std::vector<deadlock> confirmed_deadlocks(client& zk, const wait_graph& g);

// Returns a sentence that ends with a full stop.
std::string deadlock_sentence(const deadlock& d);
json::array deadlocks_json(const std::vector<deadlock>& all);

// Returns the exit code of a command that has found these deadlocks.
int exit_code_for(const std::vector<deadlock>& all) noexcept;

}  // namespace conclave::cli
