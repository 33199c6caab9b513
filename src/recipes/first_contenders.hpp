// Who leads, as far as the names of the candidates' nodes tell.
#pragma once

#include <string>
#include <vector>

#include "conclave/layout.hpp"

namespace conclave::recipes {

// The first of the line; several where the numbers do not tell which of them came first, and their
// age must be asked for.
std::vector<std::string> first_contenders(const std::vector<std::string>& children,
                                          const layout& names);

// There is a contender of another layout.
bool has_other_layout(const std::vector<std::string>& children, const layout& names);

}  // namespace conclave::recipes
