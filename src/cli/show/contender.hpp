// Prints a contender of a lock or a candidate of an election in the same way in all commands.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cli/show/json.hpp"
#include "conclave/contender_info.hpp"

namespace conclave::cli {

// Returns how long the holder has held the lock: "12s". If the time of the grant is unknown,
// returns an upper bound ("at most 12s"), counted from the holder's arrival or from an earlier
// release.
std::string held_for(const contender_info& holder, std::chrono::system_clock::time_point now);

// Adds session_id and created (the creation time of the node). For a holder, also adds
// holding_since or its bounds: holding_since_earliest and holding_since_latest.
// holding_since_latest is omitted if the grant may be as late as now.
void add_contender(json::object& to, const contender_info& c);

// Returns the last part of a path.
inline std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Returns the JSON form of a candidate.
json::object candidate_json(const contender_info& c);

// Returns the name to show: the owner, or the session if there is no owner.
std::string candidate_name(const contender_info& c);

}  // namespace conclave::cli
