#pragma once

#include <string_view>

namespace conclave::recipes {

// Written into a contender's node by anybody who wants it to let go; Curator's word.
inline constexpr std::string_view revocation = "__REVOKE__";

}  // namespace conclave::recipes
