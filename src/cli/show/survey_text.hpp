// What is in use, as a tree for people, and as JSON.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "cli/show/json.hpp"
#include "cli/show/text.hpp"
#include "cli/survey/survey.hpp"

namespace conclave::cli {

// Lines without their ends. `most`: of those who wait, and of claims, for each; 0: all.
std::vector<std::string> survey_lines(const survey& s, const std::vector<std::string>& roots,
                                      const page& p, std::size_t most,
                                      std::chrono::system_clock::time_point now);

json::object survey_json(const survey& s, const std::vector<std::string>& roots);

}  // namespace conclave::cli
