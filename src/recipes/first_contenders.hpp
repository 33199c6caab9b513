// Finds the candidates of an election, and its leader, among the children of its path.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/layout.hpp"

namespace conclave::recipes {

// Parses the name of a candidate. Returns nullopt if a campaign does not wait for this child.
std::optional<layout::contender> parse_candidate(std::string_view name, const layout& names);

// Returns the candidates that may be the first in the wait queue. If the sequence numbers do not
// determine the order, it returns several contenders, and the caller must compare their czxids.
std::vector<std::string> first_contenders(const std::vector<std::string>& children,
                                          const layout& names);

// Returns true if one of the children is a contender, but not a candidate of this election.
bool has_other_layout(const std::vector<std::string>& children, const layout& names);

}  // namespace conclave::recipes
