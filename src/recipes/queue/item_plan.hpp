// The items that a consumer removes or claims next, and their data, which the consumer reads ahead.
//
// A plan lasts for one pass, after which the queue must be listed again. A pass ends at the end of
// the listing, or earlier if items ahead of the planned ones may have become available.
//
// A busy period lasts from the first caller until no caller waits. Between busy periods, other
// consumers may change the queue unnoticed. So data from an earlier busy period must be read again
// before it is used. It is dropped after a short time.
//
// The parameter `owner` of the functions below is the object that owns this plan. Pending requests
// keep the owner alive. All members must be called inside a session_context::scope.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "recipes/queue/consumer_share.hpp"
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
  item_plan(std::shared_ptr<session_context> context, std::shared_ptr<const queue_names> names)
      : context_{std::move(context)}, names_{std::move(names)} {}

  // --- items

  enum class pass { whole_listing, part_of_listing };
  // Begins a pass with these items. `listed` is the number of items in the queue.
  void begin_pass(consumer_share::selection selected, std::size_t listed, pass p);
  // Returns how many of the next items can be acquired together for this number of callers.
  std::size_t batch_size(std::size_t callers) const;
  // Must be called with the number of items that were removed or whose claim was started.
  void count_acquired(std::size_t n) { remaining_in_pass_ -= n; }
  bool pass_is_over() const noexcept { return remaining_in_pass_ == 0; }
  // Must be called if an item could not be acquired because of another consumer. If so many
  // consecutive attempts have failed that a new listing costs less than further attempts, clears
  // the plan. Otherwise leaves out some items of a share. Both have an effect at the next update().
  void count_failed_attempt();
  // Must be called if an item was removed or claimed.
  void count_success() { failed_attempts_ = 0; }

  bool empty() const noexcept { return items_.empty() && later_.empty(); }
  std::size_t size() const noexcept { return items_.size() + later_.size(); }
  planned_item& operator[](std::size_t i);
  planned_item take_first();
  void erase(std::size_t i);
  void erase_first(std::size_t n);
  void clear();
  // These functions have an effect at the next update(), because the consumer may be using the plan
  // now. The first one clears the plan. The second one makes the consumer continue with random
  // items of the plan.
  void set_outdated() noexcept { next_update_ = change::clear; }
  void continue_at_random() noexcept;
  void update();

  // --- data

  // Requests the data of the items in this range, except for items whose data was already read or
  // requested.
  void request_data(const std::shared_ptr<void>& owner, std::size_t from, std::size_t to);
  struct read_result {
    error_code ec;
    bool items_missing = false;  // other consumers have removed some items
  };
  // Waits for the data of the first `n` items. Items that no longer exist are removed from the
  // plan, so the data of fewer than `n` items may be available afterwards.
  task<read_result> read(std::shared_ptr<void> owner, std::size_t n);
  // Returns how many items at the beginning of the plan have been read, but no more than `most`.
  std::size_t count_read(std::size_t most) const;

  // --- busy periods

  // Ends the busy period. No effect if it has already ended.
  void end_busy_period(const std::weak_ptr<void>& owner);
  void begin_busy_period() { idle_since_.reset(); }
  bool is_from_earlier_period(std::size_t i) { return (*this)[i].period != period_; }

 private:
  enum class change { none, skip, random_order, clear };  // a later one replaces an earlier one
  void skip_items();
  void plan_drop(const std::weak_ptr<void>& owner);

  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  std::deque<planned_item> items_;  // the next items, as far as they were needed
  std::vector<item_name> later_;    // the items after them; the last element is the next item
  consumer_share::part acquires_ = consumer_share::part::all_in_order;  // from later_
  std::size_t remaining_in_pass_ = 0;
  std::size_t failed_attempts_ = 0;  // consecutive
  std::size_t most_failed_attempts_ = 0;
  std::uint64_t period_ = 0;  // the number of the busy period
  std::optional<time_point> idle_since_;
  bool drop_is_planned_ = false;
  change next_update_ = change::none;
};

}  // namespace conclave::recipes
