// Prints deadlocks, in sentences and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/show/json.hpp"
#include "conclave/inspect.hpp"
#include "conclave/wait_graph.hpp"

namespace conclave::cli {

// Returns the deadlocks of this graph that still exist when they are read again.
std::vector<deadlock> confirmed_deadlocks(client& zk, const wait_graph& g);

// Returns a sentence that ends with a full stop.
std::string deadlock_sentence(const deadlock& d);
json::array deadlocks_json(const std::vector<deadlock>& all);

// Returns the sentence of a command that has found no deadlock. A node that cannot be read may hide
// one.
std::string no_deadlock_sentence(const inspection& s);

// Returns the exit code of a command that has found these deadlocks in this inspection.
int exit_code_for(const std::vector<deadlock>& all, const inspection& s) noexcept;

}  // namespace conclave::cli
