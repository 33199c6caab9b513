#include "recipes/queue/consumer_share.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace conclave::recipes {
namespace {

// A queue is contended if it has more than most_uncontended consumers, and fewer than
// items_per_consumer items for each.
constexpr std::size_t most_uncontended = 64;
constexpr std::size_t items_per_consumer = 4;

}  // namespace

bool consumer_share::is_contended(std::size_t consumers, std::size_t items) noexcept {
  return consumers > most_uncontended && items / items_per_consumer < consumers;
}

bool consumer_share::begin() {
  met_others_ = true;
  if (std::exchange(is_active_, true)) return false;
  own_lowest_ = highest_ = 0;
  foreign_ = 0;
  return true;
}

consumer_share::selection consumer_share::select_at_random(std::vector<item_name> items) {
  is_active_ = is_active_ && met_others_;
  met_others_ = false;
  return {std::move(items), is_active_ ? part::all_in_random_order : part::all_in_order};
}

consumer_share::selection consumer_share::select(std::vector<item_name> items,
                                                 std::vector<std::string> consumers,
                                                 const std::string& own_name) {
  std::sort(consumers.begin(), consumers.end());
  const auto own = std::find(consumers.begin(), consumers.end(), own_name);
  const auto count = static_cast<std::uint32_t>(consumers.size());
  const auto rank = static_cast<std::uint32_t>(own - consumers.begin());
  if (!is_active_ || own == consumers.end() || count < 2)
    return {std::move(items), part::all_in_order};
  met_others_ = false;
  std::vector<item_name> share;
  std::optional<std::uint32_t> own_lowest;
  std::size_t foreign = 0, foreign_remaining = 0;
  for (const auto& item : items) {
    const bool is_own = item.number % count == rank;
    if (is_own && (!own_lowest || item.number < *own_lowest)) own_lowest = item.number;
    // Items of other consumers are stalled if they were already ahead of our share at the last
    // selection. They become part of our share.
    if (is_own || item.number < own_lowest_) share.push_back(item);
    if (!is_own) ++foreign;
    if (!is_own && item.number <= highest_) ++foreign_remaining;
  }
  const bool others_progress = foreign_ == 0 || foreign_remaining < foreign_;
  own_lowest_ = own_lowest.value_or(0);
  foreign_ = foreign;
  for (const auto& item : items) highest_ = std::max(highest_, item.number);
  if (!others_progress) {
    is_active_ = false;
    return {std::move(items), part::all_in_order};
  }
  if (share.empty()) return {std::move(items), part::all_in_random_order};
  return {std::move(share), part::share_in_order};
}

}  // namespace conclave::recipes
