// The results of one workload.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/turns.hpp"

namespace conclave::bench {

struct series {
  std::string name;
  std::string title;
  std::vector<std::string> contenders;  // in the order to show them
  outcome result;
};

namespace series_name {
inline const std::string cycles = "cycles";
inline const std::string hand_offs = "hand-offs";  // followed by -CLIENTS
inline const std::string waiters = "waiters";      // followed by -WAITERS
inline const std::string traffic = "-traffic";     // behind the name of the series that is counted
}  // namespace series_name

struct results {
  std::vector<series> all;
  std::vector<std::string> remarks;  // who was left out, and why

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

inline constexpr std::size_t client_counts[] = {2, 8, 32};
inline constexpr std::size_t waiter_counts[] = {10, 100, 1'000, 10'000};

inline std::string hand_offs_of(std::size_t clients) {
  return series_name::hand_offs + '-' + std::to_string(clients);
}
inline std::string waiters_of(std::size_t waiters) {
  return series_name::waiters + '-' + std::to_string(waiters);
}

}  // namespace conclave::bench
