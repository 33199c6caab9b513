#include "series.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "round.hpp"

namespace conclave::bench {
namespace {

figures one_round(const series_plan& plan, const std::string& who, const std::string& servers,
                  nodes& tree) {
  assignment a{
      who, servers, {plan.what, plan.operations, plan.warm_up, plan.window, "-"}, plan.cpu};
  if (plan.what != kind::creates) return measure(a);
  a.plan.parent = tree.new_parent();
  auto result = measure(a);
  tree.remove_with_children(a.plan.parent);
  return result;
}

}  // namespace

spread series::of(const std::string& contestant, const std::string& figure) const {
  std::vector<double> values;
  for (const auto& round : rounds.at(contestant)) values.push_back(round.at(figure));
  return spread_of(std::move(values));
}

double series::ratio(const std::string& figure, const std::string& theirs) const {
  return of(conclave_name, figure).median / of(theirs, figure).median;
}

series run_series(const series_plan& plan, const std::string& servers, nodes& tree,
                  progress_display& progress) {
  series result{plan, {}};
  std::vector<std::string> order(std::begin(contestants), std::end(contestants));
  const auto all = plan.unmeasured + plan.rounds;
  progress.step(plan.title, order.size() * all);
  for (std::size_t round = 0; round < all; ++round) {
    for (const auto& who : order) {
      auto found = one_round(plan, who, servers, tree);
      if (round >= plan.unmeasured) result.rounds[who].push_back(std::move(found));
      progress.round_done(who);
    }
    std::rotate(order.begin(), order.begin() + 1, order.end());
  }
  return result;
}

}  // namespace conclave::bench
