#include "recipes/semaphore_names.hpp"

namespace conclave::recipes {

const layout& lease_layout() {
  static const auto names = layout::custom("lease-");
  return names;
}

std::optional<layout::contender> parse_lease(std::string_view name) {
  static const auto curators = layout::custom("_c_*-lease-");
  const auto parsed = lease_layout().parse(name);
  return parsed ? parsed : curators.parse(name);
}

}  // namespace conclave::recipes
