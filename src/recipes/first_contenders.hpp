// Finds the leader of an election among the names of the candidates' nodes.
#pragma once

#include <string>
#include <vector>

#include "conclave/layout.hpp"

namespace conclave::recipes {

// Returns the contenders that may be the first in the wait queue. If the sequence numbers do not
// determine the order, it returns several contenders, and the caller must compare their czxids.
std::vector<std::string> first_contenders(const std::vector<std::string>& children,
                                          const layout& names);

// Returns true if one of the children is a contender of a different layout.
bool has_other_layout(const std::vector<std::string>& children, const layout& names);

}  // namespace conclave::recipes
