// The parts of a benchmark's report that programs read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "environment.hpp"
#include "goal.hpp"
#include "spread.hpp"
#include "turns.hpp"

namespace conclave::bench {

boost::json::object to_json(const std::map<std::string, double>& values);
boost::json::object to_json(const spread& s);
boost::json::object to_json(const goal& g);
boost::json::object to_json(const environment& where);

// By contender: every round, and every figure's median and spread.
boost::json::object to_json(const outcome& o);

template <class Values>
boost::json::array to_array(const Values& values) {
  boost::json::array result;
  for (const auto& value : values) result.push_back(to_json(value));
  return result;
}

// Throws std::runtime_error if the file cannot be written.
void write_json_file(const std::string& file, const boost::json::object& report);

}  // namespace conclave::bench
