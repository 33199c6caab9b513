#include "history.hpp"

#include <algorithm>
#include <utility>

namespace conclave::testing {
namespace {

// The interval includes its end, which was recorded before the release.
bool overlap(const held_interval& earlier, const held_interval& later) {
  return later.acquired <= earlier.released;
}

std::string text(const held_interval& i) {
  return i.who + " [" + std::to_string(i.acquired) + ", " + std::to_string(i.released) + "]";
}

}  // namespace

void sort_by_acquisition(held_history& h) {
  std::sort(h.begin(), h.end(),
            [](const held_interval& a, const held_interval& b) { return a.acquired < b.acquired; });
}

std::vector<std::string> forbidden_overlaps(const held_history& h) {
  std::vector<std::string> found;
  const held_interval* last = nullptr;    // the interval with the latest release so far
  const held_interval* writer = nullptr;  // the same for exclusive intervals
  for (const auto& i : h) {
    const bool exclusive = i.mode == hold_mode::exclusive;
    const auto* const before = exclusive ? last : writer;
    if (before != nullptr && overlap(*before, i))
      found.push_back(text(*before) + " and " + text(i));
    if (last == nullptr || i.released > last->released) last = &i;
    if (exclusive && (writer == nullptr || i.released > writer->released)) writer = &i;
  }
  return found;
}

hand_offs count_hand_offs(const held_history& h) {
  hand_offs n;
  for (std::size_t i = 1; i < h.size(); ++i) {
    if (h[i - 1].ours && !h[i].ours) ++n.from_us;
    if (!h[i - 1].ours && h[i].ours) ++n.to_us;
  }
  return n;
}

int overlaps_between_libraries(const held_history& h) {
  int n = 0;
  for (auto a = h.begin(); a != h.end(); ++a)
    for (auto b = std::next(a); b != h.end(); ++b)
      if (a->ours != b->ours && overlap(*a, *b)) ++n;
  return n;
}

int most_at_a_time(const held_history& h) {
  std::vector<std::pair<std::int64_t, int>> steps;  // an acquisition sorts before a release
  for (const auto& i : h) {
    steps.emplace_back(i.acquired, -1);
    steps.emplace_back(i.released, 1);
  }
  std::sort(steps.begin(), steps.end());
  int inside = 0;
  int most = 0;
  for (const auto& [time, change] : steps) most = std::max(most, inside -= change);
  return most;
}

std::vector<std::string> tokens_out_of_order(const held_history& h) {
  std::vector<std::string> found;
  std::int64_t all = 0;  // the largest so far
  std::int64_t writers = 0;
  for (const auto& i : h) {
    if (!i.ours || i.mode == hold_mode::lease) continue;
    const auto before = i.mode == hold_mode::exclusive ? all : writers;
    if (i.token <= before)
      found.push_back(text(i) + ": " + std::to_string(i.token) + " after " +
                      std::to_string(before));
    all = std::max(all, i.token);
    if (i.mode == hold_mode::exclusive) writers = std::max(writers, i.token);
  }
  return found;
}

}  // namespace conclave::testing
