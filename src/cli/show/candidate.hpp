// Output of a candidate of an election.
#pragma once

#include "cli/show/json.hpp"
#include "conclave/contenders.hpp"

namespace conclave::cli {

json::object candidate_json(const contender_info& c);

// The name for people: the owner, or the session if there is none.
std::string candidate_name(const contender_info& c);

}  // namespace conclave::cli
