// Who leads, or would like to.
#pragma once

#include "cli/show/json.hpp"
#include "conclave/contenders.hpp"

namespace conclave::cli {

json::object candidate_json(const contender_info& c);

// For people. One that was asked to let go has no name any more: its session then.
std::string candidate_name(const contender_info& c);

}  // namespace conclave::cli
