// How a run is judged: what judge() does, in parts.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "chaos/judge.hpp"

namespace conclave::chaos {

class judging {
 public:
  explicit judging(const run_record& run) : run_{run}, all_{put_together(run.lives)} {}
  verdict judge();

 private:
  using open_holds = std::map<std::uint64_t, const hold_record*>;

  // Exclusion and order.
  void holds();
  void count(const hold_record& h, const hold_record* before);
  void overlap(const hold_record& newer, const std::string& what, const open_holds& open);
  std::string ended_too_early(const hold_record& older, const hold_record& newer) const;

  // What the workers say themselves.
  void writes_and_errors();
  void refused_while_held(const told_event& t);

  // One queue, by those who worked on it.
  void queue(const std::string& name, const std::set<std::string>& jobs);

  void faults();
  void what_was_not_shown();

  void complain(nanoseconds at, const std::string& what, const std::string& resource);
  std::vector<std::string> lines(nanoseconds at, const std::string& resource) const;

  const run_record& run_;
  whole_history all_;
  verdict result_;
};

// "mutex" of "/chaos/mutex", "claims" of "/chaos/claims/ITEM".
std::string recipe_of(const std::string& resource);

}  // namespace conclave::chaos
