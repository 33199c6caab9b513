// Rounds of several contestants, in turn.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "figures.hpp"
#include "progress.hpp"
#include "spread.hpp"

namespace conclave::bench {

struct contender {
  std::string name;
  std::function<figures()> run_round;
};

struct turns_plan {
  std::string title;          // for people
  std::size_t rounds{0};      // of each contender
  std::size_t unmeasured{0};  // rounds of each before the first that counts
};

struct outcome {
  std::map<std::string, std::vector<figures>> rounds;  // by contender

  spread of(const std::string& contender, const std::string& figure) const;
  // Of the medians: ours divided by theirs.
  double ratio(const std::string& figure, const std::string& ours, const std::string& theirs) const;
};

// Who begins changes from round to round, so that a drift of the machine meets all alike.
outcome take_turns(const turns_plan& plan, std::vector<contender> contenders,
                   progress_display& progress);

}  // namespace conclave::bench
