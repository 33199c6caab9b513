#include "driver/json.hpp"

#include <fstream>
#include <stdexcept>

#include <boost/json/src.hpp>  // header-only: nothing more to link or install

namespace conclave::bench {

using boost::json::array;
using boost::json::object;

object to_json(const std::map<std::string, double>& values) {
  object result;
  for (const auto& [name, value] : values) result[name] = value;
  return result;
}

static object to_json(const spread& s) {
  return {{"median", s.median},
          {"min", s.smallest},
          {"max", s.largest},
          {"lower_quartile", s.lower_quartile},
          {"upper_quartile", s.upper_quartile}};
}

static object to_json(const goal& g) {
  return {{"name", g.name},
          {"measured", g.measured},
          {"comparison", symbol_of(g.direction)},
          {"wanted", g.limit},
          {"met", g.met()}};
}

// For each variant: all rounds, and the median and range of each figure.
static object to_json(const series& s) {
  object variants;
  for (const auto& [variant, rounds] : s.rounds) {
    object medians;
    for (const auto& [name, value] : rounds.front()) medians[name] = to_json(s.of(variant, name));
    array all;
    for (const auto& round : rounds) all.push_back(to_json(round));
    variants[variant] = object{{"figures", medians}, {"rounds", all}};
  }
  return {{"name", s.name}, {"title", s.title}, {"contestants", variants}};
}

object to_json(const std::string& benchmark_name, const environment& where, const results& found,
               const figures& notes, const std::vector<goal>& goals) {
  object described;
  for (const auto& [name, value] : where) described[name] = value;
  array all_series;
  for (const auto& s : found.all) all_series.push_back(to_json(s));
  array remarks;
  for (const auto& remark : found.remarks) remarks.emplace_back(remark);
  array all_goals;
  for (const auto& g : goals) all_goals.push_back(to_json(g));
  return {{"benchmark", benchmark_name}, {"environment", described}, {"series", all_series},
          {"remarks", remarks},          {"notes", to_json(notes)},  {"goals", all_goals}};
}

void write_json_file(const std::string& file, const object& report) {
  std::ofstream out(file);
  out << report << '\n';
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file);
}

}  // namespace conclave::bench
