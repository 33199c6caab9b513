// The results of one workload.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/turns.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* us_per_item = "us_per_item";
inline constexpr const char* items = "items";  // that were consumed
}  // namespace figure

struct series {
  std::string name;
  std::string title;
  std::vector<std::string> contenders;  // in the order to show them
  outcome result;
};

struct results {
  std::vector<series> all;
  std::vector<std::string> remarks;  // who was stopped, and why

  const series* find(const std::string& name) const {
    for (const auto& s : all)
      if (s.name == name) return &s;
    return nullptr;
  }
  // Null if it was not measured.
  const std::vector<figures>* rounds(const std::string& name, const std::string& contender) const {
    const auto* s = find(name);
    if (!s) return nullptr;
    const auto found = s->result.rounds.find(contender);
    return found == s->result.rounds.end() || found->second.empty() ? nullptr : &found->second;
  }
};

inline constexpr std::size_t sides[] = {1, 4};  // producers, and as many consumers
inline constexpr std::size_t consumer_counts[] = {1, 4};
inline constexpr std::size_t lengths[] = {100, 1'000, 10'000};

inline std::string flow_of(std::size_t side) {
  const auto n = std::to_string(side);
  return "flow-" + n + 'x' + n;
}
inline std::string drain_of(std::size_t consumers, std::size_t length) {
  return "drain-" + std::to_string(consumers) + '-' + std::to_string(length);
}

}  // namespace conclave::bench
