#include "goals.hpp"

#include <optional>

#include "history.hpp"
#include "traffic.hpp"
#include "variant.hpp"

namespace conclave::bench {
namespace {

// Of ours to theirs; none if one of them was not measured.
std::optional<double> rate_ratio(const results& found, const std::string& name, const variant& ours,
                                 const variant& theirs) {
  if (!found.rounds(name, ours.name) || !found.rounds(name, theirs.name)) return std::nullopt;
  return found.find(name)->result.ratio(figure::operations_per_second, ours.name, theirs.name);
}

// Of the longest line to the shortest.
std::optional<double> growth(const results& found, const std::string& behind, const char* figure) {
  const auto& who = variants::asynchronous.name;
  const auto longest = waiters_of(10'000) + behind;
  const auto shortest = waiters_of(10) + behind;
  if (!found.rounds(longest, who) || !found.rounds(shortest, who)) return std::nullopt;
  return found.find(longest)->result.of(who, figure).median /
         found.find(shortest)->result.of(who, figure).median;
}

}  // namespace

std::vector<goal> judge(const results& found) {
  using enum wanted;
  std::vector<goal> goals;
  const auto add = [&goals](const char* name, std::optional<double> measured, wanted direction,
                            double limit) {
    if (measured) goals.push_back({name, *measured, direction, limit});
  };
  const auto alone = rate_ratio(found, series_name::cycles, variants::ours, variants::curator);
  add("lock-uncontended-ratio-to-curator", alone, at_least, 2);
  add("lock-uncontended-ratio-to-curator-hoped-for", alone, at_least, 3);
  add("lock-hand-offs-8-clients-ratio-to-curator",
      rate_ratio(found, hand_offs_of(8), variants::ours, variants::curator), at_least, 2);
  add("lock-frames-10000-to-10-waiters", growth(found, series_name::traffic, figure::frames),
      at_most, 1.02);
  add("lock-bytes-10000-to-10-waiters", growth(found, series_name::traffic, figure::bytes), at_most,
      1.02);
  add("lock-time-10000-to-10-waiters", growth(found, "", figure::us_per_operation), at_most, 1.5);
  return goals;
}

figures notes_on(const results& found) {
  figures notes;
  const auto add = [&notes](const std::string& name, std::optional<double> value) {
    if (value) notes[name] = *value;
  };
  const auto& us = variants::ours;
  const std::pair<const char*, const variant*> peers[] = {{"curator", &variants::curator},
                                                          {"kazoo", &variants::kazoo},
                                                          {"write-lock", &variants::write_lock}};
  for (const auto& [name, peer] : peers) {
    const auto to = std::string("-ratio-to-") + name;
    add("lock-uncontended" + to, rate_ratio(found, series_name::cycles, us, *peer));
    add("lock-uncontended-async" + to,
        rate_ratio(found, series_name::cycles, variants::asynchronous, *peer));
    for (const auto clients : client_counts)
      add("lock-hand-offs-" + std::to_string(clients) + "-clients" + to,
          rate_ratio(found, hand_offs_of(clients), us, *peer));
  }
  return notes;
}

}  // namespace conclave::bench
