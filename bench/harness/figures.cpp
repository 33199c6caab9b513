#include "figures.hpp"

#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace conclave::bench {
namespace {

constexpr const char* figure_word = "figure";

}  // namespace

void print_figures(const figures& found) {
  for (const auto& [name, value] : found)
    std::printf("%s %s %.9g\n", figure_word, name.c_str(), value);
}

figures figures_in(const std::string& output) {
  figures result;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    std::string name;
    double value = 0;
    if (words >> word >> name >> value && word == figure_word) result[name] = value;
  }
  if (result.empty()) throw std::runtime_error("a round brought no figures:\n" + output);
  return result;
}

}  // namespace conclave::bench
