#include "exclusion.hpp"

#include <algorithm>

namespace conclave::checkers {

void exclusion::granted(std::string_view resource, id which, hold h) {
  auto found = places_.find(resource);
  if (found == places_.end()) found = places_.try_emplace(std::string{resource}).first;
  auto& p = found->second;
  std::size_t others = 0;
  for (const auto& [other, its] : p.holds) {
    if (other == which || (valid_ && !valid_(other))) continue;
    ++others;
    if ((h.permits == 1 || h.permits != its.permits) && !(h.shared && its.shared))
      report_violation(h.who + " was granted " + found->first + " while " + its.who + " held it");
  }
  if (h.permits > 1 && others >= h.permits)
    report_violation(h.who + " is number " + std::to_string(others + 1) + " to hold " +
                     found->first + ", of " + std::to_string(h.permits));
  p.most = std::max(p.most, others + 1);
  p.holds.insert_or_assign(which, std::move(h));
  where_[which].push_back(&p);
}

void exclusion::ended(id which) {
  const auto at = where_.find(which);
  if (at == where_.end()) return;
  for (auto* p : at->second) p->holds.erase(which);
  where_.erase(at);
}

void exclusion::becomes_shared(id which) {
  const auto at = where_.find(which);
  if (at == where_.end()) return;
  for (auto* p : at->second) p->holds.at(which).shared = true;
}

void exclusion::becomes_exclusive(id which) {
  const auto at = where_.find(which);
  if (at == where_.end()) return;
  for (auto* p : at->second) {
    auto& mine = p->holds.at(which);
    mine.shared = false;
    for (const auto& [other, its] : p->holds)
      if (other != which && (!valid_ || valid_(other)))
        report_violation(its.who + " holds the same resource as " + mine.who +
                         ", which is exclusive");
  }
}

std::size_t exclusion::most(std::string_view resource) const {
  const auto p = places_.find(resource);
  return p == places_.end() ? 0 : p->second.most;
}

}  // namespace conclave::checkers
