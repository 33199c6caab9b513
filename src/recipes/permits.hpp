// Where the permits of a semaphore are: children of PATH/leases, as in Curator's
// InterProcessSemaphoreV2.
#pragma once

#include <string_view>

#include "conclave/layout.hpp"

namespace conclave::recipes {

inline constexpr std::string_view leases_folder = "leases";

// A child of that folder that is a permit, ours or Curator's.
inline bool is_lease(std::string_view name) {
  static const auto ours = layout::custom("lease-"), curators = layout::custom("_c_*-lease-");
  return ours.parse(name) || curators.parse(name);
}

}  // namespace conclave::recipes
