#include "json_report.hpp"

#include "harness/json_values.hpp"

namespace conclave::bench {

using boost::json::object;

// These are not in an anonymous namespace, where to_array would not find them.
static object to_json(const series& s) {
  object ratios;
  object tuned_ratios;
  for (const auto& [name, value] : s.result.rounds.at(conclave_name).front()) {
    ratios[name] = s.ratio(name);
    tuned_ratios[name] = s.ratio(name, tuned_libzookeeper_name);
  }
  return {{"name", s.plan.name},
          {"operations_per_round", s.plan.operations},
          {"window", s.plan.window},
          {"one_core", s.plan.cpu.has_value()},
          {"contestants", to_json(s.result)},
          {"ratio_of_medians", ratios},
          {"ratio_of_medians_to_tuned", tuned_ratios}};
}

static object to_json(const deep_cost& c) {
  return {{"workload", name_of(c.what)},
          {"contestant", c.contestant},
          {"system_calls_per_operation", c.system_calls},
          {"system_calls_by_name", to_json(c.by_name)},
          {"instructions_per_operation", c.instructions}};
}

static object to_json(const client_goal& g) {
  auto result = to_json(g.to_plain);
  result["measured_to_tuned"] = g.measured_to_tuned;
  return result;
}

void write_json(const std::string& file, const environment& where, const std::vector<series>& all,
                const std::vector<deep_cost>& costs, const std::vector<client_goal>& goals) {
  object report{{"benchmark", "client"},
                {"environment", to_json(where)},
                {"series", to_array(all)},
                {"goals", to_array(goals)}};
  if (!costs.empty()) report["costs"] = to_array(costs);
  write_json_file(file, report);
}

}  // namespace conclave::bench
