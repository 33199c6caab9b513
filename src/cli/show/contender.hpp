// Output of a contender of a lock or a candidate of an election, the same in all commands.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cli/show/json.hpp"
#include "conclave/contender_info.hpp"

namespace conclave::cli {

// How long the holder holds: "12s". "at most 12s" if only its arrival, or an earlier release, is
// known.
std::string held_for(const contender_info& holder, std::chrono::system_clock::time_point now);

// Adds session_id and created (the creation of the node). For a holder, adds holding_since or its
// bounds: holding_since_earliest and, unless it is now, holding_since_latest.
void add_contender(json::object& to, const contender_info& c);

// The last part of a path.
inline std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// A candidate of an election.
json::object candidate_json(const contender_info& c);

// The name for people: the owner, or the session if there is none.
std::string candidate_name(const contender_info& c);

}  // namespace conclave::cli
