#include "json_report.hpp"

#include <fstream>
#include <stdexcept>

#include <boost/json/src.hpp>  // header-only: nothing more to link or install

namespace conclave::bench {
namespace {

using boost::json::array;
using boost::json::object;

object to_json(const std::map<std::string, double>& values) {
  object result;
  for (const auto& [name, value] : values) result[name] = value;
  return result;
}

object to_json(const spread& s) {
  return {{"median", s.median},
          {"min", s.smallest},
          {"max", s.largest},
          {"lower_quartile", s.lower_quartile},
          {"upper_quartile", s.upper_quartile}};
}

object contestant_to_json(const series& s, const std::string& who) {
  array rounds;
  object figures;
  for (const auto& round : s.rounds.at(who)) rounds.push_back(to_json(round));
  for (const auto& [name, value] : s.rounds.at(who).front())
    figures[name] = to_json(s.of(who, name));
  return {{"figures", figures}, {"rounds", rounds}};
}

object to_json(const series& s) {
  object contestants;
  object ratios;
  object tuned_ratios;
  for (const auto& [who, rounds] : s.rounds) contestants[who] = contestant_to_json(s, who);
  for (const auto& [name, value] : s.rounds.begin()->second.front()) {
    ratios[name] = s.ratio(name);
    tuned_ratios[name] = s.ratio(name, tuned_libzookeeper_name);
  }
  return {{"name", s.plan.name},
          {"operations_per_round", s.plan.operations},
          {"window", s.plan.window},
          {"one_core", s.plan.cpu.has_value()},
          {"contestants", contestants},
          {"ratio_of_medians", ratios},
          {"ratio_of_medians_to_tuned", tuned_ratios}};
}

object to_json(const deep_cost& c) {
  return {{"workload", name_of(c.what)},
          {"contestant", c.contestant},
          {"system_calls_per_operation", c.system_calls},
          {"system_calls_by_name", to_json(c.by_name)},
          {"instructions_per_operation", c.instructions}};
}

object to_json(const goal& g) {
  return {{"name", g.name},
          {"measured", g.measured},
          {"measured_to_tuned", g.measured_to_tuned},
          {"comparison", g.at_least ? ">=" : "<="},
          {"wanted", g.wanted},
          {"met", g.met()}};
}

template <class Values>
array to_array(const Values& values) {
  array result;
  for (const auto& value : values) result.push_back(to_json(value));
  return result;
}

}  // namespace

void write_json(const std::string& file, const environment& where, const std::vector<series>& all,
                const std::vector<deep_cost>& costs, const std::vector<goal>& goals) {
  object environment_object;
  for (const auto& [name, value] : where) environment_object[name] = value;
  object report{{"benchmark", "client"},
                {"environment", environment_object},
                {"series", to_array(all)},
                {"goals", to_array(goals)}};
  if (!costs.empty()) report["costs"] = to_array(costs);
  std::ofstream out(file);
  out << report << '\n';
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file);
}

}  // namespace conclave::bench
