#include "json_values.hpp"

#include <fstream>
#include <stdexcept>

#include <boost/json/src.hpp>  // header-only: nothing more to link or install

namespace conclave::bench {

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

object to_json(const goal& g) {
  return {{"name", g.name},
          {"measured", g.measured},
          {"comparison", g.comparison()},
          {"wanted", g.limit},
          {"met", g.met()}};
}

object to_json(const environment& where) {
  object result;
  for (const auto& [name, value] : where) result[name] = value;
  return result;
}

object to_json(const outcome& o) {
  object result;
  for (const auto& [who, rounds] : o.rounds) {
    object medians;
    for (const auto& [name, value] : rounds.front()) medians[name] = to_json(o.of(who, name));
    result[who] = object{{"figures", medians}, {"rounds", to_array(rounds)}};
  }
  return result;
}

void write_json_file(const std::string& file, const object& report) {
  std::ofstream out(file);
  out << report << '\n';
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file);
}

}  // namespace conclave::bench
