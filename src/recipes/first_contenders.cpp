#include "recipes/first_contenders.hpp"

#include <algorithm>
#include <cstdint>

#include "recipes/sequence_number.hpp"

namespace conclave::recipes {

std::optional<layout::contender> parse_candidate(std::string_view name, const layout& names) {
  return names.parse_for(layout::role::exclusive, name);
}

std::vector<std::string> first_contenders(const std::vector<std::string>& children,
                                          const layout& names) {
  std::vector<std::string> all, front;
  std::int32_t lowest = last_number;
  number_range numbers;
  for (const auto& name : children) {
    const auto c = parse_candidate(name, names);
    if (!c) continue;
    all.push_back(name);
    numbers.add(c->number);
    if (front.empty() || c->number < lowest) front.clear();
    if (front.empty() || c->number == lowest) front.push_back(name);
    lowest = std::min(lowest, c->number);
  }
  return numbers.ordered_by_age() ? all : front;
}

bool has_other_layout(const std::vector<std::string>& children, const layout& names) {
  return std::any_of(children.begin(), children.end(), [&](const std::string& name) {
    return !parse_candidate(name, names) && layout::in_known_layout(name);
  });
}

}  // namespace conclave::recipes
