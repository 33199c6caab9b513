// Who leads, or would like to.
#pragma once

#include "cli/show/json.hpp"
#include "conclave/contenders.hpp"

namespace conclave::cli {

json::object candidate_json(const contender_info& c);

// For people. Of one without a name, its session.
std::string candidate_name(const contender_info& c);

}  // namespace conclave::cli
