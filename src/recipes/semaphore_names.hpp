// The names of a semaphore's nodes, as in Curator's InterProcessSemaphoreV2.
#pragma once

#include <optional>
#include <string_view>

#include "conclave/layout.hpp"

namespace conclave::recipes {

// PATH/locks is the wait queue of the semaphore. It is a lock in Curator's layout.
inline constexpr std::string_view locks_folder = "locks";
// The permits are children of PATH/leases.
inline constexpr std::string_view leases_folder = "leases";

// The names of Conclave's permits.
const layout& lease_layout();
// Parses the name of a permit of Conclave or Curator. Returns nullopt for all other names.
std::optional<layout::contender> parse_lease(std::string_view name);
inline bool is_lease(std::string_view name) { return parse_lease(name).has_value(); }

}  // namespace conclave::recipes
