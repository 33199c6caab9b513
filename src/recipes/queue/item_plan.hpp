// The items that a consumer removes or claims next, in this order, and their data, which the
// consumer reads ahead.
//
// A plan lasts for one pass: a limited number of items, after which the queue must be listed again.
//
// A busy period lasts from the first caller until no caller waits. Between busy periods, other
// consumers may change the queue unnoticed. So the data of an earlier period must be read again
// before it is used, and it is dropped after a short time.
//
// The parameter `owner` of the functions below is the object that owns this plan. Pending requests
// keep the owner alive. All members are called inside a session_context::scope.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "recipes/queue/names.hpp"
#include "recipes/request.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

struct planned_item {
  item_name name;
  std::optional<pending_reply<get_result>> reading;
  std::optional<get_result> read;
  std::uint64_t period = 0;  // the busy period in which the data was requested
};

class item_plan {
 public:
  item_plan(std::shared_ptr<session_context> p, std::shared_ptr<const queue_names> names)
      : context_{std::move(p)}, names_{std::move(names)} {}

  // --- items

  // Begins a pass with these items. `listed` is the number of items in the queue.
  void begin_pass(std::vector<item_name> items, std::size_t listed);
  // Returns how many of the next items can be acquired together for this number of callers.
  std::size_t batch_size(std::size_t callers) const;
  // Must be called with the number of items that were removed or whose claim was started.
  void count_acquired(std::size_t n) { remaining_in_pass_ -= n; }
  bool pass_is_over() const noexcept { return remaining_in_pass_ == 0; }

  bool empty() const noexcept { return items_.empty(); }
  std::size_t size() const noexcept { return items_.size(); }
  planned_item& operator[](std::size_t i) { return items_[i]; }
  planned_item take_first();
  void erase(std::size_t i);
  void erase_first(std::size_t n);
  void clear() { items_.clear(); }
  // Makes the next clear_if_outdated() clear the plan. The plan is not cleared at once, because the
  // consumer may be using it.
  void set_outdated() noexcept { outdated_ = true; }
  void clear_if_outdated();

  // --- data

  // Requests the data of the items in this range, unless it was already read or requested.
  void request_data(const std::shared_ptr<void>& owner, std::size_t from, std::size_t to);
  struct read_result {
    error_code ec;
    bool items_missing = false;  // other consumers have removed some items
  };
  // Waits for the data of the first `n` items. Items that no longer exist are removed from the
  // plan.
  task<read_result> read(std::shared_ptr<void> owner, std::size_t n);

  // --- busy periods

  // Ends the busy period. No effect if it has already ended.
  void end_busy_period(const std::weak_ptr<void>& owner);
  void begin_busy_period() { idle_since_.reset(); }
  bool is_from_earlier_period(std::size_t i) const { return items_[i].period != period_; }

 private:
  void plan_drop(const std::weak_ptr<void>& owner);

  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  std::deque<planned_item> items_;
  std::size_t remaining_in_pass_ = 0;
  std::uint64_t period_ = 0;  // the number of the busy period
  std::optional<time_point> idle_since_;
  bool drop_is_planned_ = false;
  bool outdated_ = false;
};

}  // namespace conclave::recipes
