#include "recipes/wait/wait_queue.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "recipes/sequence_number.hpp"

namespace conclave::recipes {

bool ordered_by_creation(const std::vector<queued_contender>& all) {
  number_range numbers;
  for (const auto& c : all) numbers.add(c.number);
  return numbers.ordered_by_age();
}

void sort_contenders(std::vector<queued_contender>& all) {
  if (!ordered_by_creation(all)) {
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::tie(a.number, a.name) < std::tie(b.number, b.name);
    });
    return;
  }
  struct aged {
    std::int64_t age;
    queued_contender contender;
  };
  std::vector<aged> by_age;
  by_age.reserve(all.size());
  for (auto& c : all) by_age.push_back({c.czxid, std::move(c)});
  // A writer that became a reader kept its sequence number but has a newer node. Contenders with a
  // higher sequence number must not come before it. So the reader counts as old as the oldest of
  // these contenders.
  for (auto& reader : by_age) {
    const auto& r = reader.contender;
    if (r.role != layout::role::reader || near_the_end(r.number)) continue;
    for (const auto& each : by_age)
      if (comes_later(each.contender.number, r.number))
        reader.age = std::min(reader.age, each.contender.czxid);
  }
  std::sort(by_age.begin(), by_age.end(), [](const aged& a, const aged& b) {
    return std::tie(a.age, a.contender.number, a.contender.name) <
           std::tie(b.age, b.contender.number, b.contender.name);
  });
  all.clear();
  for (auto& each : by_age) all.push_back(std::move(each.contender));
}

wait_queue::wait_queue(std::vector<queued_contender> contenders)
    : sorted_{std::move(contenders)}, by_creation_{ordered_by_creation(sorted_)} {
  sort_contenders(sorted_);
  up_to_writer_.reserve(sorted_.size());
  std::size_t last = 0;
  for (std::size_t i = 0; i < sorted_.size(); ++i) {
    up_to_writer_.push_back(last);
    if (sorted_[i].role != layout::role::reader) last = i + 1;
  }
}

std::optional<std::size_t> wait_queue::find(std::string_view name, std::int32_t number) const {
  auto at = sorted_.begin();
  if (!by_creation_)
    at = std::lower_bound(at, sorted_.end(), number,
                          [](const auto& c, std::int32_t n) { return c.number < n; });
  at = std::find_if(at, sorted_.end(), [&](const auto& c) {
    return c.name == name || (!by_creation_ && c.number != number);
  });
  if (at == sorted_.end() || at->name != name) return std::nullopt;
  return static_cast<std::size_t>(at - sorted_.begin());
}

std::optional<std::size_t> wait_queue::blocker_of(std::size_t index, layout::role r) const {
  const auto ahead = r == layout::role::reader ? up_to_writer_[index] : index;
  if (ahead == 0) return std::nullopt;
  return ahead - 1;
}

}  // namespace conclave::recipes
