#include "grant_order.hpp"

#include <algorithm>

namespace conclave::checkers {

void grant_order::granted(std::string_view resource, std::int64_t token, const std::string& who,
                          bool shared) {
  auto found = seen_.find(resource);
  if (found == seen_.end()) found = seen_.try_emplace(std::string{resource}).first;
  auto& s = found->second;
  const auto before = shared ? s.of_alone : s.of_any;
  if (token <= before)
    report_violation(who + " was granted " + found->first + " with token " + std::to_string(token) +
                     " after " + std::to_string(before));
  s.of_any = std::max(s.of_any, token);
  if (!shared) s.of_alone = std::max(s.of_alone, token);
}

}  // namespace conclave::checkers
