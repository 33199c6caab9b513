// The implementation of judge().
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "chaos/judge.hpp"

namespace conclave::chaos {

class run_judge {
 public:
  explicit run_judge(const run_record& run) : run_{run}, all_{combine(run.processes)} {}
  verdict judge();

 private:
  using open_holds = std::map<std::uint64_t, const hold_record*>;

  // Exclusion and order.
  void holds();
  // `before` is the hold before on the same resource, or nullptr.
  void count(const hold_record& h, const hold_record* before);
  void overlap(const hold_record& newer, const std::string& what, const open_holds& open);
  std::string explain_early_expiry(const hold_record& older, const hold_record& newer) const;

  // Writes and errors that the workers recorded.
  void writes_and_errors();
  void refused_while_held(const recorded_event& t);

  // One queue, from the events of workers with these jobs.
  void queue(const std::string& name, const std::set<std::string>& jobs);

  void faults();
  void check_coverage();

  void report_violation(nanoseconds at, const std::string& what, const std::string& resource);
  std::vector<std::string> lines(nanoseconds at, const std::string& resource) const;

  const run_record& run_;
  combined_history all_;
  verdict result_;
};

// Returns "mutex" for "/chaos/mutex" and "claims" for "/chaos/claims/ITEM".
std::string recipe_of(const std::string& resource);

}  // namespace conclave::chaos
