#include "recipes/queue/consumer_share.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace conclave::recipes {

bool consumer_share::begin() {
  if (std::exchange(is_active_, true)) return false;
  own_lowest_ = highest_ = 0;
  foreign_ = 0;
  return true;
}

std::vector<item_name> consumer_share::select(std::vector<item_name> items,
                                              std::vector<std::string> consumers,
                                              const std::string& own_name, bool never_empty) {
  std::sort(consumers.begin(), consumers.end());
  const auto own = std::find(consumers.begin(), consumers.end(), own_name);
  const auto count = static_cast<std::uint32_t>(consumers.size());
  const auto rank = static_cast<std::uint32_t>(own - consumers.begin());
  if (!is_active_ || own == consumers.end() || count < 2) return items;
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
    return items;
  }
  if (share.empty() && never_empty) return items;
  return share;
}

}  // namespace conclave::recipes
