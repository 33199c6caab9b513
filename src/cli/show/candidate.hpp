// Who leads, or would like to.
#pragma once

#include "cli/show/json.hpp"
#include "conclave/contenders.hpp"

namespace conclave::cli {

json::object candidate_json(const contender_info& c);

// One who has asked for nothing but our attention has no name: its session then.
std::string candidate_name(const contender_info& c);

}  // namespace conclave::cli
