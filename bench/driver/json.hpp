// The report as a JSON file, for other programs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "driver/report.hpp"
#include "driver/results.hpp"

namespace conclave::bench {

boost::json::object to_json(const std::map<std::string, double>& values);

boost::json::object to_json(const std::string& benchmark_name, const environment& where,
                            const results& found, const figures& notes,
                            const std::vector<goal>& goals);

// Throws std::runtime_error if the file cannot be written.
void write_json_file(const std::string& file, const boost::json::object& report);

}  // namespace conclave::bench
