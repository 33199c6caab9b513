// A contender, or a candidate of an election, as every command shows it.
#pragma once

#include <chrono>
#include <string>

#include "cli/show/json.hpp"
#include "conclave/contenders.hpp"

namespace conclave::cli {

// Since when a holder holds: "12s", or "at most 12s" if only the time of its arrival, or of a
// release before it, is known.
std::string held_for(const contender_info& holder, std::chrono::system_clock::time_point now);

// session_id; created, when its node was; and of a holder holding_since, or the bounds of that:
// holding_since_earliest and, unless it is now, holding_since_latest.
void add_contender(json::object& to, const contender_info& c);

}  // namespace conclave::cli
