// The results, for programs.
#pragma once

#include <string>
#include <vector>

#include "deep.hpp"
#include "environment.hpp"
#include "goals.hpp"
#include "series.hpp"

namespace conclave::bench {

// Throws std::runtime_error if the file cannot be written.
void write_json(const std::string& file, const environment& where, const std::vector<series>& all,
                const std::vector<deep_cost>& costs, const std::vector<client_goal>& goals);

}  // namespace conclave::bench
