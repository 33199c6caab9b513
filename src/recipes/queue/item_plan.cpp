#include "recipes/queue/item_plan.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace conclave::recipes {
namespace {

// The largest number of items in one transaction.
constexpr std::size_t largest_batch = 128;
// The length of a pass that is only a part of the listing. In a long queue it is longer, because
// the listing is large.
constexpr std::size_t shortest_pass = 512;
constexpr std::size_t passes_of_long_queue = 16;
// A failed attempt costs about as much as listing this number of items.
constexpr std::size_t listed_per_attempt = 128;
constexpr std::size_t fewest_failed_attempts = 8;
// Data that was read ahead is kept for this long while no caller waits.
constexpr auto keep_data_for = std::chrono::seconds{1};

}  // namespace

void item_plan::begin_pass(consumer_share::selection selected, std::size_t listed, pass p) {
  clear();
  later_ = std::move(selected.items);
  std::reverse(later_.begin(), later_.end());
  acquires_ = selected.acquires;
  remaining_in_pass_ = p == pass::whole_listing
                           ? std::numeric_limits<std::size_t>::max()
                           : std::max(shortest_pass, listed / passes_of_long_queue);
  failed_attempts_ = 0;
  most_failed_attempts_ = std::max(fewest_failed_attempts, listed / listed_per_attempt);
}

std::size_t item_plan::batch_size(std::size_t callers) const {
  return std::min({callers, largest_batch, remaining_in_pass_});
}

planned_item& item_plan::operator[](std::size_t i) {
  while (items_.size() <= i) {
    if (acquires_ == consumer_share::part::all_in_random_order)
      std::swap(later_[context_->random() % later_.size()], later_.back());
    items_.push_back({std::move(later_.back()), {}, {}, 0});
    later_.pop_back();
  }
  return items_[i];
}

planned_item item_plan::take_first() {
  auto first = std::move((*this)[0]);
  items_.pop_front();
  return first;
}

void item_plan::erase(std::size_t i) {
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i));
}

void item_plan::erase_first(std::size_t n) {
  items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(n));
}

void item_plan::clear() {
  items_.clear();
  std::vector<item_name>{}.swap(later_);
}

void item_plan::continue_at_random() noexcept {
  next_update_ = std::max(next_update_, change::random_order);
}

void item_plan::count_failed_attempt() {
  const bool list_again = ++failed_attempts_ > most_failed_attempts_;
  const auto c = list_again                                          ? change::clear
                 : acquires_ == consumer_share::part::share_in_order ? change::skip
                                                                     : change::none;
  next_update_ = std::max(next_update_, c);
}

// Other consumers that have divided the items differently are ahead of this one. They may acquire
// items as fast as this one tries to. So each failed attempt leaves out twice as many items as the
// one before. The next listing contains these items again.
void item_plan::skip_items() {
  if (failed_attempts_ < 2) return;  // an item was acquired meanwhile, or this is the first failure
  const std::size_t most = size() / 2;
  const auto doublings = std::min<std::size_t>(failed_attempts_ - 1, 16);
  for (auto n = std::min(most, (std::size_t{1} << doublings) - 1); n > 0; --n)
    items_.empty() ? later_.pop_back() : items_.pop_front();
}

void item_plan::update() {
  switch (std::exchange(next_update_, change::none)) {
    case change::none: break;
    case change::skip: skip_items(); break;
    case change::clear: clear(); break;
    case change::random_order:
      for (; !items_.empty(); items_.pop_back()) later_.push_back(std::move(items_.back().name));
      acquires_ = consumer_share::part::all_in_random_order;
      break;
  }
}

void item_plan::request_data(const std::shared_ptr<void>& owner, std::size_t from, std::size_t to) {
  const single_write in_one_write{*context_};
  for (std::size_t i = from; i < std::min(to, size()); ++i)
    if (auto& item = (*this)[i]; !item.read && !item.reading) {
      item.period = period_;
      item.reading = send(context_, owner,
                          requests::get(context_->defaults(), names_->item(item.name.text), {}));
    }
}

task<item_plan::read_result> item_plan::read(std::shared_ptr<void> owner, std::size_t n) {
  read_result result;
  for (std::size_t i = 0; i < n && i < size();) {
    if ((*this)[i].read) {
      ++i;
      continue;
    }
    // Other consumers are ahead of this one, so update() may change the plan first.
    if (result.items_missing && !items_[i].reading) break;
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

std::size_t item_plan::count_read(std::size_t most) const {
  std::size_t n = 0;
  while (n < std::min(most, items_.size()) && items_[n].read) ++n;
  return n;
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
