#include "series.hpp"

#include <utility>
#include <vector>

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

series run_series(const series_plan& plan, const std::string& servers, nodes& tree,
                  progress_display& progress) {
  std::vector<contender> contenders;
  for (const auto* who : contestants)
    contenders.push_back({who, [&plan, &servers, &tree, who = std::string(who)] {
                            return one_round(plan, who, servers, tree);
                          }});
  return {plan,
          take_turns({plan.title, plan.rounds, plan.unmeasured}, std::move(contenders), progress)};
}

}  // namespace conclave::bench
