#include "goals.hpp"

#include <algorithm>
#include <optional>

#include "variant.hpp"

namespace conclave::bench {
namespace {

using group = std::vector<const variant*>;

struct way {
  const char* name;
  const variant* who;
  group peers;  // that are used in the same way
};

const group popping_peers{&variants::zookeeper, &variants::curator, &variants::kazoo};
const group claiming_peers{&variants::kazoo_locking};
const way ways[] = {
    {"blocking", &variants::ours, popping_peers},
    {"async", &variants::asynchronous, popping_peers},
    {"claims", &variants::claiming, claiming_peers},
    {"async-claims", &variants::claiming_asynchronously, claiming_peers},
};

std::optional<double> median(const results& found, const std::string& series, const variant& who,
                             const char* figure) {
  if (!found.rounds(series, who.name)) return std::nullopt;
  return found.find(series)->result.of(who.name, figure).median;
}

// Of ours to the fastest of them; none if ours or all of them were not measured.
std::optional<double> ratio_to_best(const results& found, const std::string& series,
                                    const variant& ours, const group& peers) {
  const auto mine = median(found, series, ours, figure::operations_per_second);
  double best = 0;
  for (const auto* peer : peers)
    best = std::max(best, median(found, series, *peer, figure::operations_per_second).value_or(0));
  if (!mine || best == 0) return std::nullopt;
  return *mine / best;
}

// Of the time for each item.
std::optional<double> growth(const results& found, const variant& who, std::size_t consumers,
                             std::size_t from, std::size_t to) {
  const auto shorter = median(found, drain_of(consumers, from), who, figure::us_per_item);
  const auto longer = median(found, drain_of(consumers, to), who, figure::us_per_item);
  if (!shorter || !longer) return std::nullopt;
  return *longer / *shorter;
}

std::string consumers_text(std::size_t n) {
  return std::to_string(n) + (n == 1 ? "-consumer" : "-consumers");
}

}  // namespace

std::vector<goal> judge(const results& found) {
  std::vector<goal> goals;
  const auto add = [&goals](const std::string& name, std::optional<double> measured,
                            wanted direction, double limit) {
    if (measured) goals.push_back({name, *measured, direction, limit});
  };
  for (const auto& w : {ways[0], ways[1]})
    add(std::string("queue-4x4-") + w.name + "-ratio-to-best-peer",
        ratio_to_best(found, flow_of(4), *w.who, w.peers), wanted::at_least, 5);
  for (const auto consumers : consumer_counts)
    for (const auto& w : ways)
      add(std::string("queue-drain-") + w.name + '-' + consumers_text(consumers) +
              "-time-10000-to-100",
          growth(found, *w.who, consumers, 100, 10'000), wanted::at_most, 1.2);
  return goals;
}

figures notes_on(const results& found) {
  figures notes;
  const auto add = [&notes](const std::string& name, std::optional<double> value) {
    if (value) notes[name] = *value;
  };
  for (const auto& w : ways) {
    for (const auto side : sides)
      for (const auto* peer : w.peers)
        add("queue-" + flow_of(side) + '-' + w.name + "-ratio-to-" + peer->short_name,
            ratio_to_best(found, flow_of(side), *w.who, {peer}));
    for (const auto consumers : consumer_counts) {
      add(std::string("queue-drain-") + w.name + '-' + consumers_text(consumers) +
              "-time-10000-to-1000",
          growth(found, *w.who, consumers, 1'000, 10'000));
      for (const auto length : lengths)
        add("queue-" + drain_of(consumers, length) + '-' + w.name + "-ratio-to-best-peer",
            ratio_to_best(found, drain_of(consumers, length), *w.who, w.peers));
    }
  }
  return notes;
}

}  // namespace conclave::bench
