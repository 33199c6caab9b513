#include "turns.hpp"

#include <algorithm>
#include <utility>

namespace conclave::bench {

spread outcome::of(const std::string& contender, const std::string& figure) const {
  std::vector<double> values;
  for (const auto& round : rounds.at(contender)) values.push_back(round.at(figure));
  return spread_of(std::move(values));
}

double outcome::ratio(const std::string& figure, const std::string& ours,
                      const std::string& theirs) const {
  return of(ours, figure).median / of(theirs, figure).median;
}

outcome take_turns(const turns_plan& plan, std::vector<contender> contenders,
                   progress_display& progress) {
  outcome result;
  const auto all = plan.unmeasured + plan.rounds;
  progress.step(plan.title, contenders.size() * all);
  for (std::size_t round = 0; round < all; ++round) {
    for (const auto& who : contenders) {
      auto found = who.run_round();
      if (round >= plan.unmeasured) result.rounds[who.name].push_back(std::move(found));
      progress.round_done(who.name);
    }
    std::rotate(contenders.begin(), contenders.begin() + 1, contenders.end());
  }
  return result;
}

}  // namespace conclave::bench
