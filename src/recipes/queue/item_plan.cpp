#include "recipes/queue/item_plan.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "recipes/single_write.hpp"

namespace conclave::recipes {
namespace {

// The largest number of items in one transaction.
constexpr std::size_t largest_batch = 128;
// The queue is listed again after each pass, to find new items with a higher priority. A pass has
// at least shortest_pass items. In a long queue it has more, because the listing is large.
constexpr std::size_t shortest_pass = 512;
constexpr std::size_t passes_of_long_queue = 16;
// Data that was read ahead is kept for this long while no caller waits.
constexpr auto keep_data_for = std::chrono::seconds{1};

}  // namespace

void item_plan::begin_pass(std::vector<item_name> items, std::size_t listed) {
  items_.clear();
  remaining_in_pass_ = std::max(shortest_pass, listed / passes_of_long_queue);
  // The plan has one more item than the pass needs. That item shows whether items remain after the
  // pass.
  for (std::size_t i = 0; i < std::min(items.size(), remaining_in_pass_ + 1); ++i)
    items_.push_back({std::move(items[i]), {}, {}, 0});
}

std::size_t item_plan::batch_size(std::size_t callers) const {
  return std::min({callers, largest_batch, remaining_in_pass_});
}

planned_item item_plan::take_first() {
  auto first = std::move(items_.front());
  items_.pop_front();
  return first;
}

void item_plan::erase(std::size_t i) {
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i));
}

void item_plan::erase_first(std::size_t n) {
  items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(n));
}

void item_plan::clear_if_outdated() {
  if (std::exchange(outdated_, false)) clear();
}

void item_plan::request_data(const std::shared_ptr<void>& owner, std::size_t from, std::size_t to) {
  const single_write in_one_write{*context_};
  for (std::size_t i = from; i < std::min(to, items_.size()); ++i)
    if (auto& item = items_[i]; !item.read && !item.reading) {
      item.period = period_;
      item.reading = send(context_, owner,
                          requests::get(context_->defaults(), names_->item(item.name.text), {}));
    }
}

task<item_plan::read_result> item_plan::read(std::shared_ptr<void> owner, std::size_t n) {
  read_result result;
  for (std::size_t i = 0; i < n && i < items_.size();) {
    if (items_[i].read) {
      ++i;
      continue;
    }
    request_data(owner, i, n);
    auto got = co_await *items_[i].reading;
    items_[i].reading.reset();
    if (got.ec == errc::no_node) {
      erase(i);
      result.items_missing = true;
    } else if (got.ec) {
      result.ec = got.ec;
      break;
    } else {
      items_[i].read = std::move(got.value);
    }
  }
  co_return result;
}

void item_plan::end_busy_period(const std::weak_ptr<void>& owner) {
  if (idle_since_) return;
  idle_since_ = context_->now();
  ++period_;
  plan_drop(owner);
}

void item_plan::plan_drop(const std::weak_ptr<void>& owner) {
  const bool has_data = !items_.empty() && (items_.front().read || items_.front().reading);
  if (!has_data || std::exchange(drop_is_planned_, true)) return;
  context_->call_at(*idle_since_ + keep_data_for, [this, owner] {
    const auto alive = owner.lock();
    if (!alive) return;
    drop_is_planned_ = false;
    if (!idle_since_) return;
    if (context_->now() < *idle_since_ + keep_data_for) return plan_drop(owner);
    for (auto& item : items_) {
      item.read.reset();
      item.reading.reset();
    }
  });
}

}  // namespace conclave::recipes
